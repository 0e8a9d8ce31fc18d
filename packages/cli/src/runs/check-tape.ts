import type { SignatureState, Tape } from '@retake/tape'
import { isBeingWritten } from '@retake/tape/node'

/** `cut off`: all records are valid, but the end is missing. `recording`: it is being written now. */
export type Integrity = 'intact' | 'cut off' | 'recording' | 'damaged'

export interface CheckedTape {
  readonly integrity: Integrity
  /** One line: what was found, or how much was checked. */
  readonly detail: string
  readonly events: number
  /** Names the run; recomputed, not read off the tape. */
  readonly digest: string
  readonly signature: SignatureState
}

/** Checks every byte and every link of a tape, and that its end is present. */
export function checkTape(tape: Tape): CheckedTape {
  const { count: events, digest, problem, signature } = tape.verify()
  const common = { events, digest, signature }
  if (problem !== undefined)
    return { ...common, integrity: 'damaged', detail: `event ${problem.seq}: ${problem.message}` }
  if (tape.isComplete) return { ...common, integrity: 'intact', detail: `${events} events` }
  if (isBeingWritten(tape.path))
    return { ...common, integrity: 'recording', detail: `${events} events so far` }
  const missing =
    tape.status === 'sealed' ? 'the index after its seal is incomplete' : 'it has no seal'
  return { ...common, integrity: 'cut off', detail: `${events} events, then ${missing}` }
}
