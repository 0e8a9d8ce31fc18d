import { BodyEncoder } from './body-encoder.js'
import { Chain, SHORT_BODY_MAX_BYTES } from './chain.js'
import { bodySize, type Envelope, eventJson } from './codec.js'
import type { WriterDoor } from './door.js'
import { isHeavy, type NewEvent } from './events.js'
import type { Frame } from './frames.js'
import { encodeIndex, INDEX_EVERY } from './index-footer.js'
import { MerkleTree } from './merkle.js'
import { ascii, putAscii, putBytes, putCrc, putMilliseconds, putNumber } from './put-text.js'
import { type SealStatement, sealMessage } from './seal.js'

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
/** Most that a line has besides the JSON of its event and a recipe. */
const LINE_MAX_BYTES = 512
const NEWLINE_BYTES = Uint8Array.of(NEWLINE)
const EMPTY = new Uint8Array(0)
/** Larger stored bytes are handed out as they are instead of being copied together with their line. */
const COPY_MAX_BYTES = 1 << 16
/** So much may be kept before it is taken. */
const KEPT_MAX_BYTES = 1 << 17

/** Signs a message: raw ed25519 public key and signature, both base64. */
export type SealSigner = (message: Uint8Array) => {
  readonly key: string
  readonly signature: string
}

/**
 * Turns events into the bytes of a tape, one after the other, and keeps these until
 * they are taken. It holds all the state of a growing tape except the file:
 * numbering, chain, Merkle tree, index.
 */
export class RecordEncoder {
  readonly #door: WriterDoor
  readonly #chain: Chain
  readonly #tree: MerkleTree
  readonly #bodies: BodyEncoder
  /** Records that were not taken yet. */
  #out = new Uint8Array(KEPT_MAX_BYTES + 2 * COPY_MAX_BYTES)
  #used = 0
  /** What follows them: a body too large to be copied. */
  #large: Uint8Array | undefined
  /** Offsets for the index. */
  readonly #offsets: number[] = []
  #seed = 0
  #seq = 0
  /** Bytes of all records so far. */
  #end = 0

  constructor(door: WriterDoor) {
    this.#door = door
    this.#chain = new Chain(door)
    this.#tree = new MerkleTree(door)
    this.#bodies = new BodyEncoder(door)
  }

  /** Number of the next event. */
  get seq(): number {
    return this.#seq
  }

  /** Whether there is something to be taken. */
  get hasRecords(): boolean {
    return this.#used > 0
  }

  /** What there is has to be taken before the next event. */
  get isFull(): boolean {
    return this.#used > KEPT_MAX_BYTES || this.#large !== undefined
  }

  /** Takes in a record that is on tape already, to go on after it. `body` is asked for only when it is needed. */
  skip(frame: Frame, body: () => Uint8Array): void {
    const envelope = frame.envelope()
    const { eventBytes } = frame
    if (envelope.chain === undefined) {
      this.#chain.addLight(eventBytes, body())
    } else {
      const size = bodySize(envelope)
      const linked = size > SHORT_BODY_MAX_BYTES ? (envelope.sha ?? '') : body()
      this.#tree.add(this.#chain.addHeavy(eventBytes, size, linked))
      if (envelope.sha !== undefined) this.#bodies.skip(this.#seq, envelope.sha)
    }
    if (this.#seq === 0) this.#seed = frame.line.crc
    this.#advance(frame.next - frame.offset)
  }

  /** Offers a request that is on tape already for comparison with later ones. */
  skipRequest(seq: number, body: Uint8Array): void {
    this.#bodies.skipRequest(seq, body)
  }

  /** Adds the record of an event to what is to be taken. `json` is what goes on the tape as the event, its type first, where it was written out already. */
  encode(
    event: NewEvent,
    at: number,
    body: Uint8Array = EMPTY,
    json: string = eventJson(event),
  ): void {
    const textEnd = this.#putEvent(json, at)
    const text = this.#out.subarray(this.#used, textEnd)
    if (!isHeavy(event.type)) {
      this.#chain.addLight(text, body)
      return this.#finish(this.#putEnvelope(textEnd, body.length), body)
    }
    const isShort = body.length <= SHORT_BODY_MAX_BYTES
    const sha = isShort ? '' : this.#door.sha256(body)
    const chain = this.#chain.addHeavy(text, body.length, isShort ? body : sha)
    if (event.type !== 'seal') this.#tree.add(chain)
    if (isShort) return this.#finish(this.#putEnvelope(textEnd, body.length, chain), body)
    const { stored, envelope } = this.#bodies.encode(this.#seq, event.type, body, sha)
    this.#finish(this.#putWholeEnvelope(textEnd, { ...envelope, sha, chain }), stored)
  }

  /** The records since the last time, as pieces to be written in order; they are good until the next call. */
  take(): readonly Uint8Array[] {
    const records = this.#out.subarray(0, this.#used)
    const large = this.#large
    this.#used = 0
    this.#large = undefined
    return large === undefined ? [records] : [records, large, NEWLINE_BYTES]
  }

  /** What finishes the tape: its seal and its index, to be written together. */
  encodeSeal(at: number, sign?: SealSigner): readonly Uint8Array[] {
    const statement: SealStatement = {
      count: this.#seq,
      chain: this.#chain.head,
      lights: this.#chain.lightsDigest(),
      root: this.#tree.root(),
    }
    const { count, root } = statement
    const signed = sign?.(sealMessage(statement))
    const seal = this.#end
    this.encode({ type: 'seal', count, root, ...signed }, at)
    const index = { count: this.#seq, seal, offsets: this.#offsets }
    return [...this.take(), encodeIndex(this.#door, this.#seed, index)]
  }

  /** `{"seq":…,"at":…,` and the rest of the event. */
  #putEvent(json: string, ms: number): number {
    this.#makeRoom(this.#used, json.length * 3 + LINE_MAX_BYTES)
    const out = this.#out
    let at = putBytes(SEQ, out, this.#used)
    at = putNumber(this.#seq, out, at)
    at = putBytes(AT, out, at)
    at = putMilliseconds(ms, out, at)
    const end = at + this.#door.writeText(json, out, at)
    // The brace that opened it.
    out[at] = COMMA
    return end
  }

  /** Envelope of a body that is stored as it is, up to the CRC of the line. */
  #putEnvelope(textEnd: number, stored: number, chain?: string): number {
    const out = this.#out
    let at = putBytes(ENVELOPE, out, textEnd)
    if (stored > 0) {
      at = putBytes(STORED, out, at)
      at = putNumber(stored, out, at)
      out[at++] = COMMA
    }
    if (chain !== undefined) {
      at = putBytes(CHAIN, out, at)
      at = putAscii(chain, out, at)
      at = putBytes(CHAIN_END, out, at)
    }
    return putBytes(CRC, out, at)
  }

  /** Any envelope, up to the CRC of the line. */
  #putWholeEnvelope(textEnd: number, envelope: Envelope): number {
    const fields = JSON.stringify(envelope).slice(1, -1)
    this.#makeRoom(textEnd, fields.length + LINE_MAX_BYTES)
    let at = putBytes(ENVELOPE, this.#out, textEnd)
    at = putAscii(fields, this.#out, at)
    this.#out[at++] = COMMA
    return putBytes(CRC, this.#out, at)
  }

  /** The line is written up to its CRC; the rest of its record follows. */
  #finish(lineAt: number, stored: Uint8Array): void {
    const isLarge = stored.length > COPY_MAX_BYTES
    this.#makeRoom(lineAt, LINE_MAX_BYTES + (isLarge ? 0 : stored.length))
    const out = this.#out
    const start = this.#used
    let at = lineAt
    if (stored.length > 0) at = putCrc(this.#door.crc32(stored, this.#seed), out, at)
    const lineCrc = this.#door.crc32(out.subarray(start, at), this.#seed)
    at = putBytes(LINE_END, out, putCrc(lineCrc, out, at))
    if (this.#seq === 0) this.#seed = lineCrc
    if (isLarge) {
      this.#large = stored
    } else if (stored.length > 0) {
      out.set(stored, at)
      at += stored.length
      out[at++] = NEWLINE
    }
    this.#used = at
    this.#advance(at - start + (isLarge ? stored.length + 1 : 0))
  }

  /** Sees to it that `bytes` more fit behind `from`. */
  #makeRoom(from: number, bytes: number): void {
    if (from + bytes <= this.#out.length) return
    const larger = new Uint8Array(2 * (from + bytes))
    larger.set(this.#out.subarray(0, from))
    this.#out = larger
  }

  #advance(bytes: number): void {
    if (this.#seq % INDEX_EVERY === 0) this.#offsets.push(this.#end)
    this.#seq++
    this.#end += bytes
  }
}
