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
