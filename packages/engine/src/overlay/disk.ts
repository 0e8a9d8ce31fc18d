import fs from 'node:fs'

/**
 * The functions of `node:fs` as they were when this module was loaded: an overlay
 * works on the real disk, never through the patched functions it stands behind.
 */
export const disk: Readonly<typeof fs> = { ...fs }

/** What is at a path itself, links not followed; undefined when nothing is. */
export function lookAt(path: string): fs.Stats | undefined {
  try {
    return disk.lstatSync(path)
  } catch {
    return undefined
  }
}
