import type { TapeDoor } from './door.js'
import type { NewEvent, TapeEvent } from './events.js'

/**
 * One record on disk:
 *
 *     <event JSON> TAB <envelope JSON> LF [<stored bytes> LF]
 *
 * The event is what happened; its text is what the hash chain covers. The
 * envelope is how it is kept: it may change (packing) without changing the
 * digest of the run. Compact JSON holds neither TAB nor LF, so both separate
 * without escaping.
 *
 * The envelope ends with `"crc"`: eight hex digits for the stored bytes, if
 * any, then eight for the whole line before them. CRCs are seeded with the run
 * record's own, so a record of another tape is never taken for one of this.
 */
export interface Envelope {
  /** Number of bytes after the line. Absent: none, and no closing newline. */
  readonly stored?: number
  /** Length of the logical body, when it differs from `stored`. */
  readonly size?: number
  /** sha256 of the logical body; heavy events with a body only. */
  readonly sha?: string
  /** Link of the hash chain; heavy events only. */
  readonly chain?: string
  /** The stored bytes are raw deflate. */
  readonly deflate?: 1
  /** The body equals the body of this earlier event; nothing is stored. */
  readonly same?: number
  /** The body is built from the body of this earlier event by `ops`. */
  readonly base?: number
  /** With `base`: offset and length to copy, or minus the length to take from the stored bytes. */
  readonly ops?: readonly number[]
  /** Like `ops` without a base: event, offset and length to copy, or minus a length. */
  readonly parts?: readonly number[]
}

const NEWLINE = 10
const EMPTY = new Uint8Array(0)
const encoder = new TextEncoder()

/** Event as it stands on tape: `seq`, `at` and `type` first, in this order. */
export function eventText(event: NewEvent, seq: number, at: number): string {
  const { type, ...rest } = event
  const fields = JSON.stringify(rest)
  const tail = fields === '{}' ? '}' : `,${fields.slice(1)}`
  return `{"seq":${seq},"at":${at},"type":"${type}"${tail}`
}

/** CRC as it stands on tape: eight lower-case hex digits. */
export const crcHex = (crc: number): string => crc.toString(16).padStart(8, '0')

/** The header line up to the CRC that covers it, which `finishLine` adds. */
export function lineStart(text: string, envelope: Envelope, storedCrc: number | undefined): string {
  const fields = JSON.stringify(envelope)
  const comma = fields === '{}' ? '' : ','
  const body = storedCrc === undefined ? '' : crcHex(storedCrc)
  return `${text}\t${fields.slice(0, -1)}${comma}"crc":"${body}`
}

/** What follows `lineStart`. */
export const lineEnd = (lineCrc: number): string => `${crcHex(lineCrc)}"}\n`
export const LINE_END_LENGTH = 11

/** A whole record as bytes, and its CRC. The writer has a faster way for the same bytes. */
export function encodeRecord(
  door: TapeDoor,
  seed: number,
  record: { readonly text: string; readonly envelope: Envelope; readonly stored?: Uint8Array },
): Uint8Array {
  const stored = record.stored ?? EMPTY
  const crc = stored.length > 0 ? door.crc32(stored, seed) : undefined
  const start = encoder.encode(lineStart(record.text, record.envelope, crc))
  const end = encoder.encode(lineEnd(door.crc32(start, seed)))
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

/** A header line whose CRC was right, taken apart as far as a scan needs it. */
export interface Line {
  readonly seq: number
  /** Position of the TAB in `text`. */
  readonly tab: number
  /** The whole line without its newline. */
  readonly text: string
  /** Number of bytes after the line. */
  readonly stored: number
  /** CRC of those bytes; 0 when there are none. */
  readonly storedCrc: number
  /** CRC of the line itself. */
  readonly crc: number
}

/**
 * Reads the header line `bytes[from, to)`. Answers `undefined` unless the line
 * is exactly what a writer with this seed wrote. No JSON is parsed: a scan of
 * a long tape needs only lengths.
 */
export function readLine(
  door: TapeDoor,
  seed: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): Line | undefined {
  if (to - from < 20 || bytes[from + 1] !== 0x22 || bytes[from + 2] !== 0x73) return undefined
  const crc = door.crc32(bytes.subarray(from, to - 10), seed)
  const text = door.text(bytes, from, to)
  if (!text.endsWith(`${crcHex(crc)}"}`) || !text.startsWith('{"seq":')) return undefined
  const tab = text.indexOf('\t')
  const seq = digits(text, 7)
  const stored = text.startsWith('{"stored":', tab + 1) ? digits(text, tab + 11) : 0
  const storedCrc = stored > 0 ? parseInt(text.slice(-18, -10), 16) : 0
  return { seq, tab, text, stored, storedCrc, crc }
}

function digits(text: string, from: number): number {
  let value = 0
  for (let i = from; ; i++) {
    const digit = text.charCodeAt(i) - 48
    if (!(digit >= 0 && digit <= 9)) return value
    value = value * 10 + digit
  }
}

/** Type of the event in a line, without parsing it. */
export function lineType(line: Line): string {
  const from = line.text.indexOf('"type":"') + 8
  return line.text.slice(from, line.text.indexOf('"', from))
}

export const lineEvent = (line: Line): TapeEvent =>
  JSON.parse(line.text.slice(0, line.tab)) as TapeEvent

export const lineEnvelope = (line: Line): Envelope =>
  JSON.parse(line.text.slice(line.tab + 1)) as Envelope

/** Length of the logical body. */
export const bodySize = (envelope: Envelope): number => envelope.size ?? envelope.stored ?? 0
