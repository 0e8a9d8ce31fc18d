import type { Tape } from '@retake/tape'
import { TapeError } from '@retake/tape'
import { openTape } from '@retake/tape/node'

/**
 * Opens a tape whose every byte and link was checked. Serving from a tape that
 * someone has edited would show a run that never happened.
 */
export function openForReplay(path: string): Tape {
  const tape = openTape(path)
  const { problem } = tape.verify()
  if (problem === undefined) return tape
  throw new TapeError({
    code: 'TAPE_CORRUPT',
    what: `The tape ${path} is not what was recorded at event ${problem.seq}.`,
    why: `Of that event the check says: ${problem.message}.`,
    fix: 'Nothing was replayed. Restore the file from a copy, or record the run again.',
    seq: problem.seq,
  })
}
