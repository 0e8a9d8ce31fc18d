import type { TapePlatform } from './platform.js'
import { isTooDeep } from './values/json-shape.js'
import { detailsProblem, envelopeProblem, eventProblem } from './check-records.js'
import type { NewEvent, RunDetails, TapeEvent } from './events.js'

/**
 * One record on disk:
 *
 *     <event JSON> TAB <envelope JSON> LF [<stored bytes> LF]
 *
 * The event says what happened; the hash chain covers its text. The envelope says how it is stored;
 * packing may change it without changing the digest of the run. Compact JSON contains neither TAB
 * nor LF, so both separate without escaping.
 *
 * The envelope ends with `"crc"`: eight hex digits for the stored bytes, if any, then eight for the
 * whole line before them. CRCs are seeded with that of the run record, so a record of another tape
 * is never mistaken for one of this tape.
 */
export interface Envelope {
  /** Number of bytes after the line. If missing, there are none, and no closing newline. */
  readonly stored?: number
  /** Length of the logical body, if it differs from `stored`. */
  readonly size?: number
  /** sha256 of the logical body; for heavy events with a long body. */
  readonly sha?: string
  /** Link of the hash chain; for heavy events. */
  readonly chain?: string
  /** Set if the stored bytes are raw deflate. */
  readonly deflate?: 1
  /** The body equals the body of this earlier event; nothing is stored. */
  readonly same?: number
  /** The body is built from the body of this earlier event by `ops`. */
  readonly base?: number
  /** With `base`: offset and length to copy, or minus the length to take from the stored bytes. */
  readonly ops?: readonly number[]
  /** Like `ops` without a base: event, offset and length to copy, or minus a length. */
  readonly parts?: readonly number[]
  /** Only set on envelopes that were read; the codec writes it last. */
  readonly crc?: string
}

const TAB = 9
const NEWLINE = 10
const COMMA = 44
const EMPTY = new Uint8Array(0)
const encoder = new TextEncoder()
const SEQ_KEY = encoder.encode('{"seq":')
const STORED_KEY = encoder.encode('{"stored":')
const END_TYPE = encoder.encode(',"type":"end"')
const SEAL_TYPE = encoder.encode(',"type":"seal"')
const LINE_CLOSE = encoder.encode('"}')
const CRC_DIGITS = 8
/** Bytes that the CRC of a line does not cover: itself and the end. */
const CRC_TAIL_BYTES = CRC_DIGITS + LINE_CLOSE.length

/** An event as JSON with its type first. Chunks, the most frequent events of a stream, have a fast path. */
export function eventJson(event: NewEvent): string {
  if (event.type === 'deliver' && event.part === 'chunk') {
    const keys = Object.keys(event)
    // Exactly these keys, in this order.
    if (keys.length === 3 && keys[0] === 'type' && keys[1] === 'part')
      return `{"type":"deliver","part":"chunk","op":${event.op}}`
  }
  const json = JSON.stringify(event)
  if (json.startsWith('{"type":')) return json
  const { type, ...rest } = event
  return JSON.stringify({ type, ...rest })
}

/** Event text on the tape: `seq`, `at` and `type` first, in this order. */
export const eventText = (event: NewEvent, seq: number, at: number): string =>
  `{"seq":${seq},"at":${at},${eventJson(event).slice(1)}`

const crcHex = (crc: number): string => crc.toString(16).padStart(8, '0')

/** A whole record as bytes, and its CRC. The writer produces the same bytes faster. */
export function encodeRecord(
  platform: TapePlatform,
  seed: number,
  record: { readonly text: string; readonly envelope: object; readonly stored?: Uint8Array },
): Uint8Array {
  const stored = record.stored ?? EMPTY
  const crc = stored.length > 0 ? crcHex(platform.crc32(stored, seed)) : ''
  const envelope = JSON.stringify({ ...record.envelope, crc })
  const start = encoder.encode(`${record.text}\t${envelope.slice(0, -2)}`)
  const end = encoder.encode(`${crcHex(platform.crc32(start, seed))}"}\n`)
  const out = new Uint8Array(
    start.length + end.length + (stored.length > 0 ? stored.length + 1 : 0),
  )
  out.set(start)
  out.set(end, start.length)
  if (stored.length > 0) {
    out.set(stored, start.length + end.length)
    out[out.length - 1] = NEWLINE
  }
  return out
}

/** A header line with a valid CRC, parsed as far as a scan needs it. */
export interface Line {
  readonly seq: number
  /** Length of the event, in bytes; the TAB follows. */
  readonly eventBytes: number
  /** Number of bytes after the line. */
  readonly stored: number
  /** CRC of those bytes; 0 if there are none. */
  readonly storedCrc: number
  readonly crc: number
}

/** Seed of a line's CRC; `checked` if the line was already verified. */
export type LineSeed = number | 'checked'

/**
 * Parses the header line `bytes[from, to)`. Returns `undefined` unless it is exactly what a writer
 * with this seed wrote. Works on bytes without parsing JSON, because a scan of a long tape needs
 * only lengths.
 */
export function readLine(
  platform: TapePlatform,
  seed: LineSeed,
  bytes: Uint8Array,
  from: number,
  to: number,
): Line | undefined {
  if (!matchesAt(bytes, from, SEQ_KEY)) return undefined
  const crc =
    seed === 'checked'
      ? hexAt(bytes, to - CRC_TAIL_BYTES)
      : checkLine(platform, seed, bytes, from, to)
  if (crc < 0) return undefined
  const tab = bytes.indexOf(TAB, from)
  const hasStored = matchesAt(bytes, tab + 1, STORED_KEY)
  const stored = hasStored ? digitsAt(bytes, tab + 1 + STORED_KEY.length) : 0
  return {
    seq: digitsAt(bytes, from + SEQ_KEY.length),
    eventBytes: tab - from,
    stored,
    storedCrc: stored > 0 ? hexAt(bytes, to - CRC_TAIL_BYTES - CRC_DIGITS) : 0,
    crc,
  }
}

/** CRC of the line `bytes[from, to)` of any kind; -1 if it does not match the one at its end. */
export function checkLine(
  platform: TapePlatform,
  seed: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  if (to - from < CRC_TAIL_BYTES) return -1
  const crc = platform.crc32(bytes.subarray(from, to - CRC_TAIL_BYTES), seed)
  const isRight = crc === hexAt(bytes, to - CRC_TAIL_BYTES)
  return isRight && matchesAt(bytes, to - LINE_CLOSE.length, LINE_CLOSE) ? crc : -1
}

/** True if `bytes[from, to)` has the form of a header line of any tape, with any CRC. */
export function looksLikeRecord(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from < SEQ_KEY.length + CRC_TAIL_BYTES || !matchesAt(bytes, from, SEQ_KEY)) return false
  if (hexAt(bytes, to - CRC_TAIL_BYTES) < 0) return false
  if (!matchesAt(bytes, to - LINE_CLOSE.length, LINE_CLOSE)) return false
  return bytes.subarray(from, to).every((byte) => byte >= 32 || byte === TAB)
}

/** Type of the line at `from` if it is the end or the seal of a run; does not parse it. */
export function closingType(bytes: Uint8Array, from: number): 'end' | 'seal' | undefined {
  const comma = bytes.indexOf(COMMA, bytes.indexOf(COMMA, from) + 1)
  if (matchesAt(bytes, comma, END_TYPE)) return 'end'
  return matchesAt(bytes, comma, SEAL_TYPE) ? 'seal' : undefined
}

/** Parses the event at a position of a tape. Throws a `RecordFault`. */
export const parseEvent = (text: string, position: number): TapeEvent =>
  parseRecord(text, (value) => eventProblem(value, position)) as TapeEvent

/** The same for the envelope of the record at a position. */
export const parseEnvelope = (text: string, position: number): Envelope =>
  parseRecord(text, (value) => envelopeProblem(value, position)) as Envelope

/** The same for the details of a run. */
export const parseDetails = (text: string): RunDetails =>
  parseRecord(text, detailsProblem) as RunDetails

/** A record with the right checksums that Retake would not have written. */
export class RecordFault extends Error {}

function parseRecord(text: string, problemOf: (value: unknown) => string | undefined): unknown {
  if (isTooDeep(text)) throw new RecordFault('Its JSON is nested too deeply.')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new RecordFault('It is not JSON.', { cause: error })
  }
  const problem = problemOf(value)
  if (problem !== undefined) throw new RecordFault(problem)
  return value
}

/** Length of the logical body. */
export const bodySize = (envelope: Envelope): number => envelope.size ?? envelope.stored ?? 0

const matchesAt = (bytes: Uint8Array, at: number, expected: Uint8Array): boolean => {
  for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false
  return true
}

/** The decimal number that starts at `at`. */
function digitsAt(bytes: Uint8Array, at: number): number {
  let value = 0
  for (let i = at; ; i++) {
    const digit = (bytes[i] ?? 0) - 48
    if (digit < 0 || digit > 9) return value
    value = value * 10 + digit
  }
}

/** Eight lower-case hex digits as a number; -1 for anything else. */
function hexAt(bytes: Uint8Array, at: number): number {
  let value = 0
  for (let i = at; i < at + CRC_DIGITS; i++) {
    const code = bytes[i] ?? 0
    const digit = code >= 48 && code <= 57 ? code - 48 : code >= 97 && code <= 102 ? code - 87 : -1
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}
