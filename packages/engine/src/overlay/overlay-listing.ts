import fs from 'node:fs'
import path from 'node:path'
import { typeOfEntry } from '../boundaries/files/file-values.js'
import { disk } from './disk.js'
import type { Overlay } from './overlay.js'

interface ListOptions {
  readonly withFileTypes?: boolean
  readonly recursive?: boolean
  readonly encoding?: string | null
}

/** What `readdir` gives for a resolved folder that the agent calls `given`. */
export function listEntries(
  overlay: Overlay,
  place: string,
  given: string,
  options: unknown,
): unknown[] {
  const { withFileTypes, recursive, encoding } = (
    typeof options === 'string' ? { encoding: options } : (options ?? {})
  ) as ListOptions
  const text = (name: string): string | Buffer =>
    encoding === 'buffer'
      ? Buffer.from(name)
      : encoding && encoding !== 'utf8'
        ? Buffer.from(name).toString(encoding as BufferEncoding)
        : name
  const found: unknown[] = []
  const folders = ['']
  for (let below = folders.shift(); below !== undefined; below = folders.shift()) {
    for (const entry of overlay.list(path.join(place, below))) {
      const name = path.join(below, entry.name)
      if (recursive && entry.isDirectory()) folders.push(name)
      found.push(withFileTypes ? entryOf(entry, path.join(given, below), text) : text(name))
    }
  }
  return found
}

const Dirent = fs.Dirent as unknown as new (name: unknown, type: unknown, parent: unknown) => object

const entryOf = (
  entry: fs.Dirent,
  parent: string,
  text: (name: string) => string | Buffer,
): object => new Dirent(text(entry.name), typeOfEntry(entry), parent)

interface GlobOptions {
  readonly cwd?: string | URL
  readonly withFileTypes?: boolean
}

type Glob = (pattern: unknown, options?: object) => unknown[]

/** What `glob` finds on disk and is not hidden, and what it finds in the overlay. */
export function globEntries(overlay: Overlay, pattern: unknown, options: unknown): unknown[] {
  const { globSync } = disk as unknown as { globSync: Glob }
  const given = (options ?? {}) as GlobOptions
  const folder = path.resolve(String(given.cwd ?? '.'))
  const nameOf = (match: unknown): string => {
    if (typeof match === 'string') return match
    const { parentPath, name } = match as { parentPath: string; name: string }
    return path.relative(folder, path.join(overlay.original(parentPath), name))
  }
  const found = new Map<string, unknown>()
  for (const match of globSync(pattern, given)) {
    const name = nameOf(match)
    if (overlay.locate(overlay.resolve(path.resolve(folder, name), false)).in !== 'nowhere')
      found.set(name, match)
  }
  const cwd = overlay.placeOf(overlay.resolve(folder))
  for (const match of disk.existsSync(cwd) ? globSync(pattern, { ...given, cwd }) : []) {
    if (typeof match === 'object') rename(match as fs.Dirent, overlay)
    found.set(nameOf(match), match)
  }
  return [...found.values()]
}

function rename(entry: fs.Dirent, overlay: Overlay): void {
  for (const key of ['parentPath', 'path'] as const) {
    const value = (entry as unknown as Record<string, unknown>)[key]
    if (typeof value === 'string')
      Object.defineProperty(entry, key, { value: overlay.original(value), configurable: true })
  }
}
