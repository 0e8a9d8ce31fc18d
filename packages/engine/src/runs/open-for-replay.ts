import { type Tape, tapeErrors } from '@retake/tape/format'
import { openTape } from '@retake/tape/node'
import { errors } from '../errors.js'
import { revealedTape } from '../secrets/redacted-tape.js'

/**
 * Opens a tape after verifying every byte and link, because serving an edited tape would show a run
 * that never happened. A redacted run shows its personal data if this user has the key.
 */
export function openForReplay(path: string): Tape {
  const tape = openTape(path)
  refuseImported(tape)
  checkIntact(tape)
  return revealedTape(tape)
}

/** Throws `TAPE_CORRUPT` unless every byte and link of the tape is intact. */
export function checkIntact(tape: Tape): void {
  const { path } = tape
  const { problem } = tape.verify()
  if (problem === undefined) return
  throw tapeErrors.TAPE_CORRUPT(path, { seq: problem.seq }, `The check says: ${problem.message}.`)
}

/** Throws `RUN_IMPORTED` for the trace of another tool, in which nothing can be served or started. */
export function refuseImported({ run, details }: Pick<Tape, 'run' | 'details'>): void {
  if (details.imported !== undefined) throw errors.RUN_IMPORTED(run.id, details.imported.from)
}
