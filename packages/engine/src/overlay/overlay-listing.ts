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
  filePath: string,
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
  const follows = recursive === true && followsLinks(overlay, withFileTypes === true)
  const found: unknown[] = []
  const folders = [{ below: '', links: 0 }]
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const { below, links } = folder
    for (const entry of overlay.list(overlay.resolve(path.join(filePath, below)))) {
      const name = path.join(below, entry.name)
      const isLinked =
        follows && links < MOST_LINKS && isLinkToFolder(overlay, entry, path.join(filePath, name))
      if (recursive && (entry.isDirectory() || isLinked))
        folders.push({ below: name, links: links + (isLinked ? 1 : 0) })
      found.push(withFileTypes ? entryOf(entry, path.join(given, below), text) : text(name))
    }
  }
  return found
}

/** As many as the system follows; a link may lead back. */
const MOST_LINKS = 40

const isLinkToFolder = (overlay: Overlay, entry: fs.Dirent, filePath: string): boolean =>
  entry.isSymbolicLink() && overlay.lookAt(overlay.resolve(filePath))?.isDirectory() === true

const known = new Map<boolean, boolean>()

/** Whether this Node goes into folders behind links: it does for names, and for entries since Node 22. */
function followsLinks(overlay: Overlay, withFileTypes: boolean): boolean {
  const before = known.get(withFileTypes)
  if (before !== undefined) return before
  const probe = disk.mkdtempSync(path.join(overlay.folder, 'work', 'probe-'))
  disk.mkdirSync(path.join(probe, 'folder'))
  disk.writeFileSync(path.join(probe, 'folder', 'file'), '')
  disk.symlinkSync('folder', path.join(probe, 'link'), 'junction')
  const options = { recursive: true, withFileTypes } as { recursive: true; withFileTypes: true }
  const follows = disk.readdirSync(probe, options).length > 3
  disk.rmSync(probe, { recursive: true })
  known.set(withFileTypes, follows)
  return follows
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
  const cwd = overlay.overlayPath(overlay.resolve(folder))
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
