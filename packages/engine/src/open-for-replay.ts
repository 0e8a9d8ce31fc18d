import type { Tape } from '@retake/tape'
import { TapeError } from '@retake/tape'
import { openTape } from '@retake/tape/node'

/**
 * Opens a tape whose every byte and link was checked. Serving from a tape that
 * someone has edited would show a run that never happened.
 */
export function openForReplay(path: string): Tape {
  const tape = openTape(path)
  checkIntact(tape)
  return tape
}

/** Throws `TAPE_CORRUPT` unless every byte and link of the tape is what was recorded. */
export function checkIntact(tape: Tape): void {
  const { path } = tape
  const { problem } = tape.verify()
  if (problem === undefined) return
  throw new TapeError({
    code: 'TAPE_CORRUPT',
    what: `The tape ${path} is not what was recorded at event ${problem.seq}.`,
    why: `Of that event the check says: ${problem.message}.`,
    fix: 'Nothing was replayed. Restore the file from a copy, or record the run again.',
    seq: problem.seq,
  })
}
