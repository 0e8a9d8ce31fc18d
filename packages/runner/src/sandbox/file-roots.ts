import { attempt } from '@retake/tape/format'
import { disk } from '@retake/engine/hook'
import type { Stats } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ResolvedPath {
  /** Absolute, with links resolved as far as the path exists. */
  readonly real: string
  /** From `lstat`; undefined if the entry does not exist. */
  readonly stats: Stats | undefined
  readonly links: number
}

export interface ResolveOptions {
  /** Absolute base of relative paths; default the working directory. */
  readonly from?: string
  /** Follows a link at the end; default true. */
  readonly follow?: boolean
}

/** Linux gives up after this many links. */
const LINKS_MAX = 40

/**
 * Resolves a path name by name, like the system does. Missing names stay in the result, even behind
 * a dangling link. Undefined if links form a loop. The file system may change at any time after.
 */
export function resolvePath(given: string, options: ResolveOptions = {}): ResolvedPath | undefined {
  const { from = process.cwd(), follow = true } = options
  const start = path.isAbsolute(given) ? given : `${from}${path.sep}${given}`
  let { root: real } = path.parse(start)
  const left = namesOf(start.slice(real.length)).toReversed()
  let stats: Stats | undefined
  let links = 0
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (name === '..') {
      real = path.dirname(real)
      stats = undefined
      continue
    }
    const next = path.join(real, name)
    stats = statOf(next)
    const target =
      stats?.isSymbolicLink() && (follow || left.length > 0)
        ? attempt(() => disk.readlinkSync(next))
        : undefined
    if (target === undefined) {
      real = next
      continue
    }
    links += 1
    if (links > LINKS_MAX) return undefined
    const { root } = path.parse(target)
    if (root !== '') real = root
    left.push(...namesOf(target.slice(root.length)).toReversed())
    stats = undefined
  }
  return { real, stats: stats ?? statOf(real), links }
}

/** `lstat`; undefined if the entry is missing or not accessible. */
export const statOf = (location: string): Stats | undefined =>
  attempt(() => disk.lstatSync(location, { throwIfNoEntry: false }))

const SEPARATORS = path.sep === '\\' ? /[\\/]/ : /\//

const namesOf = (text: string): string[] =>
  text.split(SEPARATORS).filter((name) => name !== '' && name !== '.')

interface Root {
  /** Absolute since the policy was read, so that a later `chdir` has no effect. */
  readonly given: string
  real: string
  folds: boolean
  stamp: string
  /** Links in its path when the policy was read. Links created later are not followed. */
  readonly links: ReadonlySet<string>
}

/** The folders in one list of a file scope. */
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

  /** As absolute paths before links are resolved, for messages. */
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

  /** True if a resolved path is one of the folders or above it. */
  isAtOrAbove(real: string): boolean {
    return this.#roots.some((root) => isBelow(fresh(root).real, real))
  }

  /** True if the path is below one of the folders before its own links are resolved. */
  name(absolute: string): boolean {
    return this.#roots.some(
      (root) => isBelow(absolute, root.given) || isBelow(absolute, fresh(root).real),
    )
  }
}

/** Compares whole names: `/root-evil` is not below `/root`. */
export function isBelow(location: string, folder: string): boolean {
  if (location === folder) return true
  return location.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep)
}

const absoluteRoot = (root: string): string =>
  path.resolve(/^file:/i.test(root) ? fileURLToPath(root) : root)

/** Resolves a root again if another entry replaced it. A new link in its path is not followed. */
function fresh(root: Root): Root {
  const stamp = stampOf(statTarget(root.given))
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

const statTarget = (location: string): Stats | undefined =>
  attempt(() => disk.statSync(location, { throwIfNoEntry: false }))

/** True if the file system ignores case, found by trying the name in another case. */
export function foldsCase(folder: string): boolean {
  const name = path.basename(folder)
  const other = name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase()
  if (other === name) return process.platform === 'win32' || process.platform === 'darwin'
  const here = statTarget(folder)
  const there = statTarget(path.join(path.dirname(folder), other))
  return here !== undefined && there !== undefined && stampOf(here) === stampOf(there)
}

export const fold = (text: string): string => text.normalize('NFC').toLowerCase()
