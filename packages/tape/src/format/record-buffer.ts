import type { Envelope } from './codec.js'
import type { WriterPlatform } from './platform.js'
import { ascii, putAscii, putBytes, putCrc, putMilliseconds, putNumber } from './put-text.js'

const COMMA = 44
const NEWLINE = 10
const SEQ = ascii('{"seq":')
const AT = ascii(',"at":')
const ENVELOPE = ascii('\t{')
const STORED = ascii('"stored":')
const CHAIN = ascii('"chain":"')
const CHAIN_END = ascii('",')
const CRC = ascii('"crc":"')
const LINE_END = ascii('"}\n')
const NEWLINE_BYTES = Uint8Array.of(NEWLINE)

/** Maximum length of a line without the JSON of its event and a recipe. */
const LINE_MAX_BYTES = 512
/** Larger stored bytes are returned directly instead of being copied behind their line. */
const COPY_MAX_BYTES = 1 << 16
/** Maximum size before the content must be taken. */
const REUSED_BYTES_MAX = 1 << 17
/** Grows as needed: most runs are short, and a server records many concurrently. */
const FIRST_BYTES = 1 << 13

/**
 * Records as bytes, each written to its final position: event, envelope, stored bytes. The next
 * event overwrites an unfinished record.
 */
export class RecordBuffer {
  readonly #platform: WriterPlatform
  #bytes = new Uint8Array(FIRST_BYTES)
  /** End of the finished records. */
  #used = 0
  /** End of the record in progress. */
  #at = 0
  /** Stored bytes after the last record that are too large to copy. */
  #large: Uint8Array | undefined

  constructor(platform: WriterPlatform) {
    this.#platform = platform
  }

  get isEmpty(): boolean {
    return this.#used === 0
  }

  /** True if the content must be taken before the next record. */
  get isFull(): boolean {
    return this.#used > REUSED_BYTES_MAX || this.#large !== undefined
  }

  /** Starts a record. Returns the bytes of its event, valid until the next step. `json` has the type first. */
  putEvent(seq: number, ms: number, json: string): Uint8Array {
    this.#at = this.#used
    this.#makeRoom(json.length * 3 + LINE_MAX_BYTES)
    const bytes = this.#bytes
    let at = putBytes(SEQ, bytes, this.#at)
    at = putNumber(seq, bytes, at)
    at = putBytes(AT, bytes, at)
    at = putMilliseconds(ms, bytes, at)
    this.#at = at + this.#platform.writeText(json, bytes, at)
    // Replaces the opening brace.
    bytes[at] = COMMA
    return bytes.subarray(this.#used, this.#at)
  }

  /** Envelope of a body that is stored uncompressed. */
  putPlainEnvelope(stored: number, chain?: string): void {
    const bytes = this.#bytes
    let at = putBytes(ENVELOPE, bytes, this.#at)
    if (stored > 0) {
      at = putBytes(STORED, bytes, at)
      at = putNumber(stored, bytes, at)
      bytes[at++] = COMMA
    }
    if (chain !== undefined) {
      at = putBytes(CHAIN, bytes, at)
      at = putAscii(chain, bytes, at)
      at = putBytes(CHAIN_END, bytes, at)
    }
    this.#at = putBytes(CRC, bytes, at)
  }

  putEnvelope(envelope: Envelope): void {
    const fields = JSON.stringify(envelope).slice(1, -1)
    this.#makeRoom(fields.length + LINE_MAX_BYTES)
    const bytes = this.#bytes
    let at = putBytes(ENVELOPE, bytes, this.#at)
    at = putAscii(fields, bytes, at)
    bytes[at++] = COMMA
    this.#at = putBytes(CRC, bytes, at)
  }

  /** Ends the record. Returns its length and the CRC of its line. */
  finish(stored: Uint8Array, seed: number): { readonly length: number; readonly crc: number } {
    const isLarge = stored.length > COPY_MAX_BYTES
    this.#makeRoom(LINE_MAX_BYTES + (isLarge ? 0 : stored.length))
    const bytes = this.#bytes
    const start = this.#used
    let at = this.#at
    if (stored.length > 0) at = putCrc(this.#platform.crc32(stored, seed), bytes, at)
    const crc = this.#platform.crc32(bytes.subarray(start, at), seed)
    at = putBytes(LINE_END, bytes, putCrc(crc, bytes, at))
    if (isLarge) {
      this.#large = stored
    } else if (stored.length > 0) {
      bytes.set(stored, at)
      at += stored.length
      bytes[at++] = NEWLINE
    }
    this.#used = at
    return { length: at - start + (isLarge ? stored.length + 1 : 0), crc }
  }

  /** The records since the last call, as pieces to write in order; valid until the next event. */
  take(): readonly Uint8Array[] {
    const records = this.#bytes.subarray(0, this.#used)
    const large = this.#large
    this.#used = 0
    this.#large = undefined
    return large === undefined ? [records] : [records, large, NEWLINE_BYTES]
  }

  #makeRoom(more: number): void {
    if (this.#at + more <= this.#bytes.length) return
    const larger = new Uint8Array(2 * (this.#at + more))
    larger.set(this.#bytes.subarray(0, this.#at))
    this.#bytes = larger
  }
}
