import type { Step, Tape, TapeError } from '@retake/tape'
import { blankRow, type StepRow } from '@retake/tape/present'

/** The place of a step whose records are damaged, or cannot be taken apart: its number and time, and why. */
export function unreadableRow(tape: Tape, step: Step, error: TapeError): StepRow {
  return blankRow({
    label: step.label,
    seq: step.seq,
    kind: kindOf(tape, step.seq),
    state: 'failed',
    title: 'This step cannot be read',
    at: step.at,
    error: `${error.what} ${error.why}`,
    inferred: step.inferred,
  })
}

/** By the event alone. */
function kindOf(tape: Tape, seq: number): StepRow['kind'] {
  const event = tape.event(seq)
  if (event.type === 'call') return event.kind === 'process' ? 'process' : 'tool'
  return event.type === 'note' ? 'mark' : 'http'
}
