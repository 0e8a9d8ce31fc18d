import { bodySize, parseEnvelope, parseEvent } from './codec.js'
import type { ByteSource, TapeDoor } from './door.js'
import { noSuchEvent, tapeCorrupt } from './errors.js'
import type { RunDetails, RunEvent, TapeEvent } from './events.js'
import type { Frames } from './frames.js'
import { PlainFrames } from './plain-frames.js'
import { recover } from './recovery.js'
import { type VerifyResult, verifyTape } from './verify.js'

const EMPTY = new Uint8Array(0)

/** `ended`: the run came to its end but was not sealed. `truncated`: neither, it was killed or still goes on. */
export type TapeStatus = 'sealed' | 'ended' | 'truncated'

/**
 * A tape that can be read, from whatever surroundings. It shows what was there
 * when it was opened; a recording that goes on is seen by opening it again.
 */
export class Tape {
  readonly path: string
  readonly run: RunEvent
  readonly details: RunDetails
  /** Number of valid events, the seal included. */
  readonly count: number
  readonly status: TapeStatus
  /** Bytes after the last valid event that were ignored: what a kill left of the record it hit. */
  readonly tornBytes: number
  readonly #door: TapeDoor
  readonly #frames: Frames

  private constructor(
    door: TapeDoor,
    frames: Frames,
    facts: { readonly path: string; readonly status: TapeStatus; readonly tornBytes: number },
  ) {
    this.#door = door
    this.#frames = frames
    this.path = facts.path
    this.status = facts.status
    this.tornBytes = facts.tornBytes
    this.count = frames.count
    this.run = this.event(0) as RunEvent
    this.details = JSON.parse(new TextDecoder().decode(this.body(0))) as RunDetails
  }

  /** `path` only names the tape in messages. */
  static open(door: TapeDoor, source: ByteSource, path: string): Tape {
    const found = recover(door, source, path)
    const offsets = Float64Array.from(found.offsets)
    const frames = new PlainFrames(door, source, { seed: found.seed, offsets, path })
    const status = found.hasSeal ? 'sealed' : found.hasEnd ? 'ended' : 'truncated'
    return new Tape(door, frames, { path, status, tornBytes: source.size - found.end })
  }

  event(seq: number): TapeEvent {
    this.#check(seq)
    return parseEvent(this.#frames.frame(seq).eventText)
  }

  /** Events `from` up to, not including, `to`. */
  *events(from = 0, to = this.count): IterableIterator<TapeEvent> {
    for (let seq = Math.max(0, from); seq < Math.min(to, this.count); seq++) yield this.event(seq)
  }

  /** The body as it was recorded; empty when the event has none. */
  body(seq: number): Uint8Array {
    this.#check(seq)
    const frame = this.#frames.frame(seq)
    const envelope = parseEnvelope(frame.envelopeText)
    if (bodySize(envelope) === 0) return EMPTY
    const body = this.#frames.stored(frame)
    if (envelope.sha !== undefined && this.#door.sha256(body) !== envelope.sha) {
      throw tapeCorrupt(
        this.path,
        { seq, offset: frame.offset },
        'Its body does not have the recorded sha256.',
      )
    }
    return body
  }

  /** Length of the body, without reading it. */
  bodySize(seq: number): number {
    this.#check(seq)
    return bodySize(parseEnvelope(this.#frames.frame(seq).envelopeText))
  }

  /** sha256 of the body of a heavy event, without reading the body; undefined when it has none. */
  bodySha(seq: number): string | undefined {
    this.#check(seq)
    return parseEnvelope(this.#frames.frame(seq).envelopeText).sha
  }

  /** Chain hash of event `seq`, or of the last heavy event before it: names everything up to there. */
  chainAt(seq: number): string {
    this.#check(seq)
    for (let at = seq; at >= 0; at--) {
      const { chain } = parseEnvelope(this.#frames.frame(at).envelopeText)
      if (chain !== undefined) return chain
    }
    return ''
  }

  /** Checks every byte and every link. Does not throw: the result names the first bad event. */
  verify(): VerifyResult {
    return verifyTape(this.#door, this.#frames, this)
  }

  #check(seq: number): void {
    if (!Number.isInteger(seq) || seq < 0 || seq >= this.count) {
      throw noSuchEvent(this.path, seq, this.count)
    }
  }
}
