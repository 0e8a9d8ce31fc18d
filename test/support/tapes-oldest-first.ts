import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'

/**
 * Paths of the tapes in a folder, oldest first. Names tell the second only, and then letters
 * by chance: of two short runs the later one may have the earlier name.
 */
export const tapesOldestFirst = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.tape'))
    .map((name) => join(folder, name))
    .map((path) => ({ path, startedAt: startOf(path) }))
    .toSorted((a, b) => a.startedAt - b.startedAt || (a.path < b.path ? -1 : 1))
    .map(({ path }) => path)

/** A tape that cannot be read yet, or any more, comes first. */
function startOf(path: string): number {
  try {
    return openTape(path).run.startedAt
  } catch {
    return 0
  }
}
