import { isDelivery, isInitiation } from '@retake/tape/format'
import type { Tape } from '@retake/tape/format'

/** Work that a library does with an answer before it hands it on is found within this many events. */
const EVENTS_MAX = 2000

/**
 * Deliveries that follow from delivery `seq`: answers to what was started in its
 * turn, in the turns of those, and so on; `seq` itself is the first. An answer that
 * a library unpacks or retries reaches the agent in one of these turns, while the
 * turns between them belong to other tasks.
 */
export function relatedTurns(tape: Tape, seq: number): number[] {
  const turns = [seq]
  const started = new Set<number>()
  let isRelated = true
  for (const event of tape.events(seq + 1, seq + EVENTS_MAX)) {
    if (isDelivery(event)) {
      isRelated = started.has(event.op)
      if (isRelated) turns.push(event.seq)
    } else if (isRelated && isInitiation(event)) started.add(event.seq)
  }
  return turns
}
