import { readdirSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { type SourceList, TapeError } from '@retake/tape'
import { openOwnTape } from '@retake/tape/node'
import { filesOfCode, SourceStore } from './source-store.js'
import { UnchangedCode } from './unchanged-code.js'

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
  const addAll = (list: string): void => {
    used.add(list)
    for (const sha of Object.values(filesOfCode(store.list(list) ?? NO_FILES))) used.add(sha)
  }
  const read = new Set<string>()
  // Twice, because a run may be moved to the trash or back while they are listed.
  for (let pass = 1; pass <= 2; pass += 1) {
    const seen = new Set<string>()
    for (const folder of [path.dirname(store.folder), runsFolder].filter(isFolder))
      for (const tape of tapesIn(path.resolve(folder), store.folder, seen)) {
        if (read.has(tape)) continue
        read.add(tape)
        const list = listNamedBy(tape)
        if (list !== undefined && !used.has(list)) addAll(list)
      }
  }
  // A recording of known code makes only its list new, so lists that are unused go first.
  const unchanged = new UnchangedCode(store.folder)
  let bytes = 0
  for (const list of unchanged.lists()) {
    if (used.has(list)) continue
    const removed = store.remove(list, isDry)
    if (removed === undefined) addAll(list)
    else if (!isDry) {
      bytes += removed
      unchanged.forget(list)
    }
  }
  return bytes + store.removeUnused(used, isDry)
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

/** A list that cannot be read names no contents, so no command needs them. */
const NO_FILES: SourceList = { files: {}, packages: {}, settings: {} }

/** Undefined for a tape whose beginning is damaged: no command can run its code. */
function listNamedBy(tape: string): string | undefined {
  if (statSync(tape).size === 0) return undefined
  try {
    return openOwnTape(tape).details.code?.list
  } catch (error) {
    if (error instanceof TapeError && UNREADABLE.has(error.code)) return undefined
    throw error
  }
}
