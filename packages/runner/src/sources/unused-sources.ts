import { readdirSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { TapeError } from '@retake/tape'
import { openOwnTape } from '@retake/tape/node'
import { filesOfCode, SourceStore } from './source-store.js'

/**
 * Removes the sources that no run names any more, and returns how many bytes that were. Runs are
 * all tapes beside the store: also branches, forks, child processes and what is in the trash. If
 * one of them cannot be read, throws and removes nothing.
 *
 * Not promised: tapes that were moved elsewhere do not count.
 */
export function removeUnusedSources(runsFolder: string, isDry = false): number {
  const store = SourceStore.besideRuns(runsFolder)
  if (!isFolder(store.folder)) return 0
  const used = new Set<string>()
  const read = new Set<string>()
  // Twice, because a run may be moved to the trash or back while they are listed.
  for (let pass = 1; pass <= 2; pass += 1) {
    const seen = new Set<string>()
    for (const folder of [path.dirname(store.folder), runsFolder].filter(isFolder))
      for (const tape of tapesIn(path.resolve(folder), store.folder, seen)) {
        if (read.has(tape)) continue
        read.add(tape)
        for (const sha of codeOf(tape)) used.add(sha)
      }
  }
  return store.removeUnused(used, isDry)
}

/** Tapes in a folder and below, and those in the trash, which are just called `tape`. */
function* tapesIn(folder: string, except: string, seen: Set<string>): Generator<string> {
  const real = realpathSync(folder)
  if (seen.has(real)) return
  seen.add(real)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    const isLink = entry.isSymbolicLink()
    if (file === except || entry.name.endsWith('.files')) continue
    if (entry.isDirectory() || (isLink && isFolder(file))) yield* tapesIn(file, except, seen)
    else if (entry.name.endsWith('.tape') || entry.name === 'tape') yield file
  }
}

const isFolder = (file: string): boolean =>
  statSync(file, { throwIfNoEntry: false })?.isDirectory() === true

const UNREADABLE: ReadonlySet<string> = new Set(['TAPE_CORRUPT', 'TAPE_NOT_A_TAPE'])

/** Empty for a tape whose beginning is damaged: no command can run its code. */
function codeOf(tape: string): string[] {
  if (statSync(tape).size === 0) return []
  try {
    const { code } = openOwnTape(tape).details
    return code === undefined ? [] : Object.values(filesOfCode(code))
  } catch (error) {
    if (error instanceof TapeError && UNREADABLE.has(error.code)) return []
    throw error
  }
}
