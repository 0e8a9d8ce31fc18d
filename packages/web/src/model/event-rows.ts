import { eventLines } from '@retake/tape'
import type { Tape } from '@retake/tape'
import { clip } from './clip.js'
import { eventText } from './event-text.js'
import type { EventRow } from './run-parts.js'

/** Events at once. */
const EVENTS_MAX = 10_000

/** Events `from` up to, not including, `to`, each in one line. At most 10,000 of them. */
export function eventRows(tape: Tape, from: number, to: number): EventRow[] {
  const first = Number.isInteger(from) ? Math.max(0, from) : 0
  const last = Number.isInteger(to) ? Math.min(to, first + EVENTS_MAX) : first + EVENTS_MAX
  return [...tape.events(first, last)].map((event) => ({
    seq: event.seq,
    at: event.at,
    type: event.type,
    text: eventText(tape, event),
    op: 'op' in event ? event.op : undefined,
    bytes: tape.bodySize(event.seq),
  }))
}

/** One event whole, with its body; long strings are clipped. */
export function eventAt(tape: Tape, seq: number): unknown {
  const one = {
    run: tape.run,
    details: tape.details,
    status: tape.status,
    count: tape.count,
    event: (at: number) => tape.event(at),
    // Said here, too, so that a number that is none is refused.
    events: () => [tape.event(seq)],
    body: (at: number) => tape.body(at),
  }
  const [line] = eventLines(one)
  return clip(line)
}
