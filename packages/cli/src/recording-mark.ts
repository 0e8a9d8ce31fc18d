import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { RunEvent } from '@retake/tape'
import { isLocked } from '@retake/tape/node'
import { runsFolderNotWritable } from './errors/programs.js'

/** A run inside a program has no mark: it counts as going on while its tape is locked, or grows. */
const FRESH_MS = 5000

const markOf = (tape: string): string => `${tape}.pid`

/**
 * Leaves a note beside the tape that this process is recording it; the answer
 * removes it. Throws where the folder cannot be written to, before anything ran.
 */
export function markRecording(tape: string): () => void {
  try {
    writeFileSync(markOf(tape), String(process.pid))
  } catch (error) {
    throw runsFolderNotWritable(path.dirname(tape), error)
  }
  return () => rmSync(markOf(tape), { force: true })
}

/** Whether an unfinished tape is still being written, as far as one can tell. */
export function isRecording(tape: string, scope: RunEvent['scope']): boolean {
  const marked = markedAlive(tape)
  if (marked !== undefined) return marked
  if (scope === 'process') return false
  if (isLocked(tape)) return true
  const found = statSync(tape, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs < FRESH_MS
}

/** Undefined without a mark. */
function markedAlive(tape: string): boolean | undefined {
  try {
    return isAlive(Number(readFileSync(markOf(tape), 'utf8')))
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
