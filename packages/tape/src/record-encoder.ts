import { BodyEncoder } from './body-encoder.js'
import { Chain } from './chain.js'
import {
  bodySize,
  eventText,
  heavyEnvelope,
  lightEnvelope,
  LINE_END_LENGTH,
  lineEnd,
  lineStart,
} from './codec.js'
import type { WriterDoor } from './door.js'
import { isHeavy, type NewEvent } from './events.js'
import type { Frame } from './frames.js'
import { encodeIndex, INDEX_EVERY } from './index-footer.js'
import { MerkleTree } from './merkle.js'
import { type SealStatement, sealMessage } from './seal.js'

const NEWLINE = 10
const NEWLINE_BYTES = Uint8Array.of(NEWLINE)
const EMPTY = new Uint8Array(0)
/** Records with larger stored bytes are handed out in pieces instead of being copied together. */
const COPY_MAX_BYTES = 1 << 16

/** Signs a message: raw ed25519 public key and signature, both base64. */
export type SealSigner = (message: Uint8Array) => {
  readonly key: string
  readonly signature: string
}

/**
 * Turns events into the bytes of a tape, one after the other. It holds all the
 * state of a growing tape except the file: numbering, chain, Merkle tree, index.
 */
export class RecordEncoder {
  readonly #door: WriterDoor
  readonly #chain: Chain
  readonly #tree: MerkleTree
  readonly #bodies: BodyEncoder
  readonly #text = new TextEncoder()
  #scratch = new Uint8Array(4 * COPY_MAX_BYTES)
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

  /** Takes in a record that is on tape already, to go on after it. `body` is asked for only when it is needed. */
  skip(frame: Frame, body: () => Uint8Array): void {
    const envelope = frame.envelope()
    if (envelope.chain === undefined) {
      this.#chain.addLight(frame.eventText, body())
    } else {
      const size = bodySize(envelope)
      const sha = envelope.sha ?? ''
      this.#tree.add(this.#chain.addHeavy(frame.eventText, size, sha))
      this.#bodies.skip(this.#seq, size, sha)
    }
    if (this.#seq === 0) this.#seed = frame.line.crc
    this.#advance(frame.next - frame.offset)
  }

  /** Offers a request that is on tape already for comparison with later ones. */
  skipRequest(seq: number, body: Uint8Array): void {
    this.#bodies.skipRequest(seq, body)
  }

  /** The record as pieces to be written in order; they are good until the next call. `json` is the event, where it was written out already. */
  encode(
    event: NewEvent,
    at: number,
    body: Uint8Array = EMPTY,
    json?: string,
  ): readonly Uint8Array[] {
    const text = eventText(event, this.#seq, at, json)
    if (!isHeavy(event.type)) {
      this.#chain.addLight(text, body)
      return this.#frame(text, lightEnvelope(body.length), body)
    }
    const sha = body.length > 0 ? this.#door.sha256(body) : ''
    const chain = this.#chain.addHeavy(text, body.length, sha)
    if (event.type !== 'seal') this.#tree.add(chain)
    const { stored, envelope } = this.#bodies.encode(this.#seq, event.type, body, sha)
    const isWhole = stored === body
    const fields = heavyEnvelope(isWhole ? undefined : envelope, body.length, sha, chain)
    return this.#frame(text, fields, stored)
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
    const record = this.encode({ type: 'seal', count, root, ...signed }, at)
    const index = { count: this.#seq, seal, offsets: this.#offsets }
    return [...record, encodeIndex(this.#door, this.#seed, index)]
  }

  #frame(text: string, envelope: string, stored: Uint8Array): readonly Uint8Array[] {
    const storedCrc = stored.length > 0 ? this.#door.crc32(stored, this.#seed) : undefined
    const start = lineStart(text, envelope, storedCrc)
    const room = start.length * 3 + LINE_END_LENGTH + COPY_MAX_BYTES + 1
    if (this.#scratch.length < room) this.#scratch = new Uint8Array(room)
    const startBytes = this.#text.encodeInto(start, this.#scratch).written
    const lineCrc = this.#door.crc32(this.#scratch.subarray(0, startBytes), this.#seed)
    const end = lineEnd(lineCrc)
    for (let i = 0; i < end.length; i++) this.#scratch[startBytes + i] = end.charCodeAt(i)
    const lineBytes = startBytes + LINE_END_LENGTH
    if (this.#seq === 0) this.#seed = lineCrc
    this.#advance(lineBytes + (stored.length > 0 ? stored.length + 1 : 0))
    if (stored.length === 0) return [this.#scratch.subarray(0, lineBytes)]
    if (stored.length > COPY_MAX_BYTES) {
      return [this.#scratch.subarray(0, lineBytes), stored, NEWLINE_BYTES]
    }
    this.#scratch.set(stored, lineBytes)
    this.#scratch[lineBytes + stored.length] = NEWLINE
    return [this.#scratch.subarray(0, lineBytes + stored.length + 1)]
  }

  #advance(bytes: number): void {
    if (this.#seq % INDEX_EVERY === 0) this.#offsets.push(this.#end)
    this.#seq++
    this.#end += bytes
  }
}
