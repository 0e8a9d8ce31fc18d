import type { ByteWindow } from './byte-window.js'
import { type Line, readLine } from './codec.js'
import type { TapeDoor } from './door.js'

const NEWLINE = 10

/** A record found on tape: its header line, and where its stored bytes are. */
export interface Frame {
  readonly line: Line
  readonly offset: number
  readonly bodyOffset: number
  /** Offset of the next record. */
  readonly end: number
}

/** Access to the records of a tape by number, however they are laid out. */
export interface Frames {
  readonly count: number
  /** Throws `TAPE_CORRUPT` when the record is damaged. */
  frame(seq: number): Frame
  /** The stored bytes, checked against their CRC. */
  stored(frame: Frame): Uint8Array
}

/** Why there is no record at an offset. */
export type FrameFault = 'end' | 'no-line' | 'bad-line' | 'wrong-seq' | 'short-body' | 'bad-body'

/** Reads the header line at `offset`; its stored bytes are not looked at. */
export function readFrame(
  door: TapeDoor,
  window: ByteWindow,
  seed: number,
  offset: number,
  seq: number,
): Frame | FrameFault {
  if (offset >= window.source.size) return 'end'
  const newline = window.newline(offset)
  if (newline < 0) return 'no-line'
  const line = readLine(door, seed, window.bytes, offset - window.start, newline - window.start)
  if (line === undefined) return 'bad-line'
  if (line.seq !== seq) return 'wrong-seq'
  const bodyOffset = newline + 1
  const end = line.stored > 0 ? bodyOffset + line.stored + 1 : bodyOffset
  if (end > window.source.size) return 'short-body'
  return { line, offset, bodyOffset, end }
}

/** Whether the stored bytes of a frame and their closing newline are what was written. */
export function storedIsWhole(
  door: TapeDoor,
  window: ByteWindow,
  seed: number,
  frame: Frame,
): boolean {
  if (frame.line.stored === 0) return true
  const pieceBytes = 1 << 20
  let crc = seed
  for (let at = frame.bodyOffset; at < frame.end - 1;) {
    const length = Math.min(pieceBytes, frame.end - 1 - at)
    const index = window.show(at, length + 1)
    const piece = window.bytes.subarray(index, index + length)
    if (piece.length < length) return false
    crc = door.crc32(piece, crc)
    at += length
  }
  const last = window.show(frame.end - 1, 1)
  return crc === frame.line.storedCrc && window.bytes[last] === NEWLINE
}
