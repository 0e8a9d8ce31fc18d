import type { NewEvent, RunEvent } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'

/** One event of a tape with its body. */
export interface Entry {
  readonly event: NewEvent
  readonly body: Uint8Array
}

/**
 * Writes a copy of a tape with some events changed or left out (`undefined`):
 * validly chained and sealed, as by someone who can write tapes, so that only
 * replay can tell. References between events follow along. `run` changes the run record.
 */
export function rewriteTape(
  from: string,
  to: string,
  change: (entry: Entry, seq: number) => Entry | undefined,
  run: Partial<RunEvent> = {},
): void {
  const tape = openTape(from)
  let at = 0
  const writer = TapeWriter.create(to, { ...tape.run, ...run }, tape.details, { now: () => at })
  const placeOf = new Map<unknown, number>([[0, 0]])
  for (const { seq, at: recordedAt, ...event } of tape.events(1)) {
    if (event.type === 'seal') break
    at = recordedAt
    const entry = change({ event, body: tape.body(seq) }, seq)
    if (entry !== undefined)
      placeOf.set(seq, writer.append(moved(entry.event, placeOf), entry.body))
  }
  writer.seal()
}

/** The event with its references to earlier events pointing at their new places. */
function moved(event: NewEvent, placeOf: ReadonlyMap<unknown, number>): NewEvent {
  const references = ['op', 'socket'] as const
  const found = references.filter((name) => name in event)
  const places = found.map((name) => [name, placeOf.get((event as never)[name]) ?? -1])
  return { ...event, ...(Object.fromEntries(places) as object) }
}
