import type { DeliveryEvent, Tape } from '@retake/tape'
import type { NewDelivery } from '../sessions/session.js'

/** One part of an answer that does not come from outside: made up, edited, or recorded earlier. */
export interface AnswerPart {
  readonly event: NewDelivery
  readonly body: Uint8Array
}

/** A recorded part as it is given again, with a note where it comes from; what was written by then is known anew. */
export function recordedPart(tape: Tape, recorded: DeliveryEvent): AnswerPart {
  const { seq, at: _at, op: _op, ...part } = recorded
  const {
    written: _written,
    digest: _digest,
    ...event
  } = part as NewDelivery & { written?: number; digest?: string }
  return { event: { ...event, from: seq }, body: tape.body(seq) }
}
