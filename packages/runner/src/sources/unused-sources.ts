import { closeSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { SourceStore } from './source-store.js'

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
        for (const [, sha = ''] of headOf(tape).matchAll(/"([\da-f]{64})"/g)) used.add(sha)
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

const CHUNK_BYTES = 64 * 1024

/** The record of a run and its details, one line each. They are read even if the tape is damaged. */
function headOf(tape: string): string {
  const descriptor = openSync(tape, 'r')
  try {
    let head = ''
    let lines = 0
    const chunk = Buffer.alloc(CHUNK_BYTES)
    for (let read = 1; read > 0 && lines < 2;) {
      read = readSync(descriptor, chunk)
      // Digests have one byte per character, whatever is around them.
      const text = chunk.toString('latin1', 0, read)
      head += text
      lines += text.split('\n').length - 1
    }
    return head
  } finally {
    closeSync(descriptor)
  }
}
