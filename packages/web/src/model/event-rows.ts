import { eventLines } from '@retake/tape'
import type { Tape, TapeEvent } from '@retake/tape'
import { clip } from './clip.js'
import type { EventRow } from './run-parts.js'

/** Events `from` up to, not including, `to`, each in one line. */
export function eventRows(tape: Tape, from: number, to: number): EventRow[] {
  return [...tape.events(from, to)].map((event) => ({
    seq: event.seq,
    at: event.at,
    type: event.type,
    text: textOf(event),
    op: 'op' in event ? event.op : undefined,
    bytes: tape.bodySize(event.seq),
  }))
}

function textOf(event: TapeEvent): string {
  const { type: _type, seq: _seq, at: _at, ...rest } = event
  return JSON.stringify(rest).slice(0, 200)
}

/** One event with its body, long strings clipped. */
export function eventAt(tape: Tape, seq: number): unknown {
  const one = {
    run: tape.run,
    details: tape.details,
    status: tape.status,
    count: tape.count,
    event: (at: number) => tape.event(at),
    events: () => tape.events(seq, seq + 1),
    body: (at: number) => tape.body(at),
  }
  const [line] = eventLines(one)
  return clip(line)
}
