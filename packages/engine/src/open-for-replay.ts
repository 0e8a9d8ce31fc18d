import { tapeCorrupt, type Tape } from '@retake/tape/format'
import { openTape } from '@retake/tape/node'
import { errors } from './errors.js'
import { revealedTape } from './redaction/redacted-tape.js'

/**
 * Opens a tape whose every byte and link was checked. Serving from a tape that
 * someone has edited would show a run that never happened. Of a redacted run, the tape has its
 * personal data if this user has the key.
 */
export function openForReplay(path: string): Tape {
  const tape = openTape(path)
  refuseImported(tape)
  checkIntact(tape)
  return revealedTape(tape)
}

/** Throws `TAPE_CORRUPT` unless every byte and link of the tape is what was recorded. */
export function checkIntact(tape: Tape): void {
  const { path } = tape
  const { problem } = tape.verify()
  if (problem === undefined) return
  throw tapeCorrupt(path, { seq: problem.seq }, `The check says: ${problem.message}.`)
}

/** Throws `RUN_IMPORTED` for a trace of another tool: nothing in it could be served or started. */
export function refuseImported({ run, details }: Pick<Tape, 'run' | 'details'>): void {
  if (details.imported !== undefined) throw errors.RUN_IMPORTED(run.id, details.imported.from)
}
