import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Stats } from 'node:fs'
import { disk } from '@retake/engine/hook'
import { resolvePath, statOf } from './resolve-path.js'

interface Root {
  /** Made absolute when the policy was read: a later `chdir` does not move it. */
  readonly given: string
  real: string
  /** The file system ignores case here. */
  folds: boolean
  stamp: string
  /** Links on its path when the policy was read. No other entry may become one. */
  readonly links: ReadonlySet<string>
}

/** The folders in one list of a file scope, with links followed. */
export class FileRoots {
  readonly #roots: readonly Root[]

  constructor(given: readonly string[]) {
    this.#roots = given.map((root) => ({
      given: absoluteRoot(root),
      real: '',
      folds: false,
      stamp: 'new',
      links: new Set(linksOn(absoluteRoot(root))),
    }))
  }

  /** For messages. */
  get names(): readonly string[] {
    return this.#roots.map(({ given }) => given)
  }

  get folders(): readonly string[] {
    return this.#roots.map((root) => fresh(root).real)
  }

  get isEmpty(): boolean {
    return this.#roots.length === 0
  }

  /** True if a resolved path is one of the folders or below it. */
  contains(real: string): boolean {
    return this.#roots.some((root) => {
      const { real: folder, folds } = fresh(root)
      return folds ? isBelow(fold(real), fold(folder)) : isBelow(real, folder)
    })
  }

  /** True if a resolved path is a folder above one of them. */
  isAround(real: string): boolean {
    return this.#roots.some((root) => isBelow(fresh(root).real, real))
  }

  /** True if a path is below one of them by name, before links are followed. */
  name(absolute: string): boolean {
    return this.#roots.some(
      (root) => isBelow(absolute, root.given) || isBelow(absolute, fresh(root).real),
    )
  }
}

/** Compared name by name: `/root-evil` is not below `/root`. */
export function isBelow(location: string, folder: string): boolean {
  if (location === folder) return true
  return location.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep)
}

const absoluteRoot = (root: string): string =>
  path.resolve(/^file:/i.test(root) ? fileURLToPath(root) : root)

/** Resolves a root again if it changed: it may be a link. A folder that became a link leads nowhere. */
function fresh(root: Root): Root {
  const stamp = stampOf(lookThrough(root.given))
  if (stamp === root.stamp) return root
  root.stamp = stamp
  const isExchanged = linksOn(root.given).some((link) => !root.links.has(link))
  root.real = isExchanged ? root.given : (resolvePath(root.given)?.real ?? root.given)
  root.folds = foldsCase(root.real)
  return root
}

const linksOn = (location: string): string[] =>
  [location, ...foldersAbove(location)].filter((each) => statOf(each)?.isSymbolicLink() === true)

export function foldersAbove(location: string): string[] {
  const folder = path.dirname(location)
  return folder === location ? [] : [folder, ...foldersAbove(folder)]
}

const stampOf = (stats: Stats | undefined): string =>
  stats === undefined ? 'missing' : `${stats.dev}:${stats.ino}`

function lookThrough(location: string): Stats | undefined {
  try {
    return disk.statSync(location, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Tries the name of the folder in another case. */
export function foldsCase(folder: string): boolean {
  const name = path.basename(folder)
  const other = name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase()
  if (other === name) return process.platform === 'win32' || process.platform === 'darwin'
  const here = lookThrough(folder)
  const there = lookThrough(path.join(path.dirname(folder), other))
  return here !== undefined && there !== undefined && stampOf(here) === stampOf(there)
}

export const fold = (text: string): string => text.normalize('NFC').toLowerCase()
