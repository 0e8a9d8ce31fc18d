import type { ByteWindow } from './byte-window.js'
import {
  type Envelope,
  type Line,
  type LineSeed,
  parseEnvelope,
  parseEvent,
  readLine,
} from './codec.js'
import type { TapePlatform } from './platform.js'
import type { TapeEvent } from './events.js'

const NEWLINE = 10

/** A record on the tape: its header line, and the position of its stored bytes. */
export class Frame {
  readonly line: Line
  /** Offset of the record; in a packed tape, inside its block. */
  readonly offset: number
  readonly bodyOffset: number
  readonly #platform: TapePlatform
  readonly #bytes: Uint8Array
  readonly #start: number
  readonly #end: number
  #envelope: Envelope | undefined

  /** The header line is `bytes[start, end)`. */
  constructor(
    platform: TapePlatform,
    line: Line,
    position: {
      readonly offset: number
      readonly bodyOffset: number
      readonly bytes: Uint8Array
      readonly start: number
      readonly end: number
    },
  ) {
    this.#platform = platform
    this.line = line
    this.offset = position.offset
    this.bodyOffset = position.bodyOffset
    this.#bytes = position.bytes
    this.#start = position.start
    this.#end = position.end
  }

  get next(): number {
    return this.line.stored > 0 ? this.bodyOffset + this.line.stored + 1 : this.bodyOffset
  }

  get eventText(): string {
    return this.#platform.text(this.#bytes, this.#start, this.#start + this.line.eventBytes)
  }

  /** The same as bytes, which hashes cover. */
  get eventBytes(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#start + this.line.eventBytes)
  }

  event(): TapeEvent {
    return parseEvent(this.eventText)
  }

  envelope(): Envelope {
    const start = this.#start + this.line.eventBytes + 1
    return (this.#envelope ??= parseEnvelope(this.#platform.text(this.#bytes, start, this.#end)))
  }
}

/** Access to the records of a tape by number, in any layout. */
export interface Frames {
  readonly count: number
  /** Throws `TAPE_CORRUPT` if the record is damaged. */
  frame(seq: number): Frame
  /** The stored bytes, checked against their CRC. */
  stored(frame: Frame): Uint8Array
}

/** Reason why there is no record at an offset. */
export type FrameFault = 'end' | 'no-line' | 'bad-line' | 'wrong-seq' | 'short-body'

/** Parses the header line at `offset`, without its stored bytes. */
export function readFrame(
  platform: TapePlatform,
  window: ByteWindow,
  seed: LineSeed,
  offset: number,
  seq: number,
): Frame | FrameFault {
  if (offset >= window.source.size) return 'end'
  const newline = window.newline(offset)
  if (newline < 0) return 'no-line'
  const { bytes } = window
  const start = offset - window.start
  const end = newline - window.start
  const line = readLine(platform, seed, bytes, start, end)
  if (line === undefined) return 'bad-line'
  if (line.seq !== seq) return 'wrong-seq'
  const frame = new Frame(platform, line, { offset, bodyOffset: newline + 1, bytes, start, end })
  return frame.next > window.source.size ? 'short-body' : frame
}

/** True if the stored bytes of a frame and their closing newline are intact. */
export function storedIsWhole(
  platform: TapePlatform,
  window: ByteWindow,
  seed: number,
  frame: Frame,
): boolean {
  if (frame.line.stored === 0) return true
  const pieceBytes = 1 << 20
  const end = frame.next - 1
  let crc = seed
  for (let at = frame.bodyOffset; at < end;) {
    const length = Math.min(pieceBytes, end - at)
    const index = window.show(at, length + 1)
    const piece = window.bytes.subarray(index, index + length)
    if (piece.length < length) return false
    crc = platform.crc32(piece, crc)
    at += length
  }
  const last = window.show(end, 1)
  return crc === frame.line.storedCrc && window.bytes[last] === NEWLINE
}
