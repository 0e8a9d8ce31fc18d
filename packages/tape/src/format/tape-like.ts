import type { RunDetails, RunEvent, TapeEvent } from './events.js'

/** The part of a tape that the read model needs; implemented by `Tape`, and by lists of events in tests. */
export interface TapeLike {
  readonly run: RunEvent
  readonly details: RunDetails
  readonly count: number
  readonly status: 'sealed' | 'ended' | 'truncated'
  event(seq: number): TapeEvent
  events(from?: number, to?: number): Iterable<TapeEvent>
  body(seq: number): Uint8Array
}
