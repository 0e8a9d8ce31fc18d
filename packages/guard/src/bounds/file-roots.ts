import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Stats } from 'node:fs'
import { disk } from '@retake/engine/hook'
import { resolvePath, statOf } from './resolve-path.js'

interface Root {
  /** As it was given, made absolute when the policy was read: a later change of folder does not move it. */
  readonly given: string
  real: string
  /** The file system takes `A` and `a` for the same name here. */
  folds: boolean
  /** Stats at the time it was resolved. */
  stamp: string
  /** Links on the way to it when the policy was read. No other entry may become one. */
  readonly links: ReadonlySet<string>
}

/** The folders of one list of a file scope, with their links followed. */
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

  /** As given, for people. */
  get names(): readonly string[] {
    return this.#roots.map(({ given }) => given)
  }

  /** Without links, as they are on disk now. */
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

  /** True if a resolved path is a folder around one of them. Their names are no secret. */
  isAround(real: string): boolean {
    return this.#roots.some((root) => isBelow(fresh(root).real, real))
  }

  /** True if a path looks as if it were below one of them, before links are followed. */
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

/**
 * Resolved again when something else is there than before: a root may be a link that was moved on
 * purpose. A folder that a tool exchanged for a link leads nowhere.
 */
function fresh(root: Root): Root {
  const stamp = stampOf(lookThrough(root.given))
  if (stamp === root.stamp) return root
  root.stamp = stamp
  const isExchanged = linksOn(root.given).some((link) => !root.links.has(link))
  root.real = isExchanged ? root.given : (resolvePath(root.given)?.real ?? root.given)
  root.folds = foldsCase(root.real)
  return root
}

/** Entries on a path that are links, itself included. */
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

/** Asked of the file system itself: the same folder answers to another spelling of its name. */
export function foldsCase(folder: string): boolean {
  const name = path.basename(folder)
  const other = name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase()
  if (other === name) return process.platform === 'win32' || process.platform === 'darwin'
  const here = lookThrough(folder)
  const there = lookThrough(path.join(path.dirname(folder), other))
  return here !== undefined && there !== undefined && stampOf(here) === stampOf(there)
}

export const fold = (text: string): string => text.normalize('NFC').toLowerCase()
