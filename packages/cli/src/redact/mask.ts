import type { Pattern } from './patterns.js'
import { RangeFinder } from './range-finder.js'

const STAR = 0x2a
/** How `toWire` of the tape writes a Buffer or another array of bytes. */
const WIRE_BYTES = /("\$":"(?:ArrayBuffer|Buffer|DataView|\w+Array)","v":")([A-Za-z0-9+/]+=*)"/g
const isWireBytes = (value: object): value is { $: string; v: string } =>
  '$' in value &&
  'v' in value &&
  typeof value.v === 'string' &&
  /^(?:ArrayBuffer|Buffer|DataView|\w+Array)$/.test(String(value.$))
const strictText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Hides what matches behind as many `*` as it has bytes, and counts what it hid. */
export class Mask {
  readonly #finder: RangeFinder
  /** Values hidden so far. */
  hidden = 0

  constructor(patterns: readonly Pattern[]) {
    this.#finder = new RangeFinder(patterns)
  }

  matches(text: string): boolean {
    return this.#finder.find(text).length > 0
  }

  text(text: string): string {
    const ranges = this.#finder.find(text)
    if (ranges.length === 0) return text
    let masked = ''
    let from = 0
    for (const [start, end] of ranges) {
      masked += text.slice(from, start) + '*'.repeat(Buffer.byteLength(text.slice(start, end)))
      from = end
    }
    this.hidden += ranges.length
    return masked + text.slice(from)
  }

  /** A copy with every text in it masked, names of members too. Numbers of many digits that match become null. */
  deep(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') return this.#number(value)
    if (Array.isArray(value)) return value.map((each) => this.deep(each))
    if (typeof value !== 'object' || value === null) return value
    if (isWireBytes(value)) return { ...value, v: this.#base64(value.v) }
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [this.text(key), this.deep(member)]),
    )
  }

  /** Bytes that stand in a value are base64 on the tape; that is our writing, not the agent's. */
  wireBytes(json: string): string {
    return json.replaceAll(
      WIRE_BYTES,
      (all, before: string, base64: string) => `${before}${this.#base64(base64)}"`,
    )
  }

  #base64(base64: string): string {
    const bytes = Buffer.from(base64, 'base64')
    const [masked] = this.pieces([bytes])
    return masked === undefined ? base64 : Buffer.from(masked).toString('base64')
  }

  /**
   * Pieces that belong together, such as the chunks of an answer: what matches is found
   * across their borders. Undefined for a piece that stays as it is.
   */
  pieces(pieces: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    const whole = Buffer.concat(pieces)
    const ranges = this.byteRanges(whole)
    if (ranges.length === 0) return pieces.map(() => undefined)
    this.hidden += ranges.length
    for (const [start, end] of ranges) overwrite(whole, start, end)
    let at = 0
    return pieces.map((piece) => {
      const masked = whole.subarray(at, at + piece.length)
      at += piece.length
      return masked.equals(piece) ? undefined : masked
    })
  }

  /** Bytes that are no UTF-8 are looked at one by one. */
  byteRanges(bytes: Buffer): [start: number, end: number][] {
    const { text, isUtf8 } = readBytes(bytes)
    const ranges = this.#finder.find(text)
    if (!isUtf8 || text.length === bytes.length) return ranges.map(([start, end]) => [start, end])
    let [characters, at] = [0, 0]
    const byteAt = (character: number): number => {
      at += Buffer.byteLength(text.slice(characters, character))
      characters = character
      return at
    }
    return ranges.map(([start, end]) => [byteAt(start), byteAt(end)])
  }

  /** Times and counts are short or not of the user; what is long enough to name somebody is looked at. */
  #number(value: number): number | null {
    if (Math.abs(value) < 1e6 || !this.matches(String(value))) return value
    this.hidden += 1
    return null
  }
}

function readBytes(bytes: Buffer): { text: string; isUtf8: boolean } {
  try {
    return { text: strictText.decode(bytes), isUtf8: true }
  } catch {
    return { text: bytes.toString('latin1'), isUtf8: false }
  }
}

/** A number of JSON becomes null and blanks, so that what is left is JSON still. */
function overwrite(bytes: Buffer, start: number, end: number): void {
  let [from, to] = [start, end]
  while (isNumeric(bytes[from - 1])) from--
  while (isNumeric(bytes[to])) to++
  const isNumber =
    to - from >= 4 &&
    bytes.subarray(from, to).every(isNumeric) &&
    ':[,'.includes(String.fromCharCode(neighbour(bytes, from, -1))) &&
    ',]}'.includes(String.fromCharCode(neighbour(bytes, to - 1, 1)))
  if (isNumber) bytes.fill(' ', from, to).write('null', from, 'latin1')
  else bytes.fill(STAR, start, end)
}

const isNumeric = (byte: number | undefined): boolean =>
  byte !== undefined && '0123456789+-.eE'.includes(String.fromCharCode(byte))

/** The next byte in a direction that is not blank; 0 at an end. */
function neighbour(bytes: Buffer, from: number, step: 1 | -1): number {
  for (let at = from + step; at >= 0 && at < bytes.length; at += step) {
    const byte = bytes[at] ?? 0
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte
  }
  return 0
}
