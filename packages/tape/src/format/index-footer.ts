import { checkLine, encodeRecord } from './codec.js'
import type { ByteSource, TapePlatform } from './platform.js'
import { attempt } from './values/attempt.js'
import { isRecord } from './values/json-shape.js'
import { inflatedMaxBytes } from './frames.js'
import { digitCount } from './put-text.js'

/**
 * Last line of a finished tape: the positions of its records. A scan would find the same, so a tape
 * that lost its footer is still intact.
 *
 *     {"index":{…}} TAB {"length":<bytes of this line>,"crc":"…"} LF
 */
export interface TapeIndex {
  /** Number of events, including the seal. */
  readonly count: number
  readonly seal: number
  /** Offset of every `INDEX_EVERY`-th record; the first is 0. */
  readonly offsets?: readonly number[]
  /** In a packed tape: first event and offset of each block. */
  readonly blocks?: readonly (readonly [from: number, offset: number])[]
}

/** Records between two entries are found by walking, which keeps the footer small. */
export const INDEX_EVERY = 32

/** A record has at least a number, a time, a type and a checksum. */
const RECORD_MIN_BYTES = 40

/** Maximum length of the second half of the line. */
const TAIL_MAX_BYTES = 64

export function encodeIndex(platform: TapePlatform, seed: number, index: TapeIndex): Uint8Array {
  const text = JSON.stringify({ index })
  const line = (length: number) => encodeRecord(platform, seed, { text, envelope: { length } })
  const withOneDigit = line(0).length
  // The line contains its own length, so an extra digit makes it longer.
  let length = withOneDigit
  while (length !== withOneDigit - 1 + digitCount(length))
    length = withOneDigit - 1 + digitCount(length)
  return line(length)
}

export interface FoundIndex {
  readonly index: TapeIndex
  readonly offset: number
}

/** The index of a tape; `undefined` if it is missing or damaged. */
export function readIndex(
  platform: TapePlatform,
  source: ByteSource,
  seed: number,
): FoundIndex | undefined {
  const tail = source.read(Math.max(0, source.size - TAIL_MAX_BYTES), TAIL_MAX_BYTES)
  const match = /\t\{"length":(\d+),"crc":"[0-9a-f]{8}"\}\n$/.exec(
    platform.text(tail, 0, tail.length),
  )
  const length = Number(match?.[1] ?? 0)
  if (length === 0 || length > source.size) return undefined
  const line = source.read(source.size - length, length)
  if (checkLine(platform, seed, line, 0, line.length - 1) < 0) return undefined
  const text = platform.text(line, 0, line.indexOf(9))
  if (!text.startsWith('{"index":')) return undefined
  const parsed = attempt(() => JSON.parse(text) as { readonly index: unknown })
  const offset = source.size - length
  return isIndex(parsed?.index, offset) ? { index: parsed.index, offset } : undefined
}

/** True if all positions are in a file whose records end at `end`. */
function isIndex(index: unknown, end: number): index is TapeIndex {
  if (!isRecord(index)) return false
  const { count, seal, offsets = [], blocks = [] } = index
  const isOffset = (value: unknown): boolean =>
    Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < end
  const isBlock = (value: unknown): boolean =>
    Array.isArray(value) && Number.isSafeInteger(value[0]) && value[0] > 0 && isOffset(value[1])
  const bytes = index['blocks'] === undefined ? end : inflatedMaxBytes(end)
  return (
    Number.isSafeInteger(count) &&
    (count as number) > 1 &&
    (count as number) <= bytes / RECORD_MIN_BYTES &&
    isOffset(seal) &&
    Array.isArray(offsets) &&
    offsets.length <= Math.ceil((count as number) / INDEX_EVERY) &&
    offsets.every(isOffset) &&
    Array.isArray(blocks) &&
    blocks.every(isBlock)
  )
}
