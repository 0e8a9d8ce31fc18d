import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'

/** A run that has no mark of its own counts as going on while its tape grows. */
const FRESH_MS = 5000

const markOf = (tape: string): string => `${tape}.pid`

/** Leaves a note beside the tape that this process is recording it; the answer removes it. */
export function markRecording(tape: string): () => void {
  writeFileSync(markOf(tape), String(process.pid))
  return () => rmSync(markOf(tape), { force: true })
}

/** Whether an unfinished tape is still being written, as far as one can tell. */
export function isRecording(tape: string): boolean {
  try {
    return isAlive(Number(readFileSync(markOf(tape), 'utf8')))
  } catch {
    const found = statSync(tape, { throwIfNoEntry: false })
    return found !== undefined && Date.now() - found.mtimeMs < FRESH_MS
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
