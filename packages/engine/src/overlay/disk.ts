import fs from 'node:fs'

/**
 * The functions of `node:fs` when this module was loaded, because an overlay works on the real
 * disk, never through the patched functions that it implements.
 */
export const disk: Readonly<typeof fs> = { ...fs }

/** Stats of a path without following links; undefined if it does not exist. */
export function lookAt(path: string): fs.Stats | undefined {
  try {
    return disk.lstatSync(path)
  } catch {
    return undefined
  }
}

/** The system's limit of links to follow; links may form a cycle. */
export const LINKS_MAX = 40

// ── entries of folders ──────────────────────────────────────────────────────

const constants = fs.constants as unknown as Readonly<Record<string, number>>
const TYPES = [
  ['isFile', constants['UV_DIRENT_FILE']],
  ['isDirectory', constants['UV_DIRENT_DIR']],
  ['isSymbolicLink', constants['UV_DIRENT_LINK']],
  ['isFIFO', constants['UV_DIRENT_FIFO']],
  ['isSocket', constants['UV_DIRENT_SOCKET']],
  ['isCharacterDevice', constants['UV_DIRENT_CHAR']],
  ['isBlockDevice', constants['UV_DIRENT_BLOCK']],
] as const

export const typeOfEntry = (entry: fs.Dirent): number => TYPES.find(([is]) => entry[is]())?.[1] ?? 0

export const Dirent = fs.Dirent as unknown as new (
  name: unknown,
  type: unknown,
  parent: unknown,
) => object
