import { BodyEncoder } from './body-encoder.js'
import { Chain, SHORT_BODY_MAX_BYTES } from './chain.js'
import { bodySize, eventJson } from './codec.js'
import type { WriterPlatform } from './platform.js'
import { isHeavy, type NewEvent } from './events.js'
import type { Frame } from './frames.js'
import { encodeIndex, INDEX_EVERY } from './index-footer.js'
import { MerkleTree } from './merkle.js'
import { RecordBuffer } from './record-buffer.js'
import { type SealStatement, sealMessage } from './seal.js'

const EMPTY = new Uint8Array(0)

/** Signs a message: raw ed25519 public key and signature, both base64. */
export type SealSigner = (message: Uint8Array) => {
  readonly key: string
  readonly signature: string
}

/**
 * Encodes events as records of a tape, and buffers these until they are taken. Contains all the
 * state of a growing tape except the file: numbering, chain, Merkle tree, index.
 */
export class RecordEncoder {
  readonly #platform: WriterPlatform
  readonly #chain: Chain
  readonly #tree: MerkleTree
  readonly #bodies: BodyEncoder
  readonly #records: RecordBuffer
  readonly #offsets: number[] = []
  #seed = 0
  #seq = 0
  /** Bytes of all records so far. */
  #end = 0

  constructor(platform: WriterPlatform) {
    this.#platform = platform
    this.#chain = new Chain(platform)
    this.#tree = new MerkleTree(platform)
    this.#bodies = new BodyEncoder(platform)
    this.#records = new RecordBuffer(platform)
  }

  /** Number of the next event. */
  get seq(): number {
    return this.#seq
  }

  get isEmpty(): boolean {
    return this.#records.isEmpty
  }

  /** True if the content must be taken before the next event. */
  get isFull(): boolean {
    return this.#records.isFull
  }

  /** Registers a record that is already on the tape, to continue after it. `body` is called only if needed. */
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
    this.#advance(frame.next - frame.offset, frame.line.crc)
  }

  /** Registers a request that is already on the tape, for comparison with later ones. */
  skipRequest(seq: number, body: Uint8Array): void {
    this.#bodies.skipRequest(seq, body)
  }

  /**
   * Encodes an event into the buffer. `json` is its serialised form with the type first, if the
   * caller already has it.
   */
  encode(
    event: NewEvent,
    at: number,
    body: Uint8Array = EMPTY,
    json: string = eventJson(event),
  ): void {
    const text = this.#records.putEvent(this.#seq, at, json)
    let stored = body
    if (isHeavy(event.type)) stored = this.#encodeHeavy(event.type, text, body)
    else {
      this.#chain.addLight(text, body)
      this.#records.putPlainEnvelope(body.length)
    }
    const { length, crc } = this.#records.finish(stored, this.#seed)
    this.#advance(length, crc)
  }

  /** The records since the last call, as pieces to write in order; valid until the next event. */
  take(): readonly Uint8Array[] {
    return this.#records.take()
  }

  /** The seal and the index, which finish the tape and are written together. */
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
    return [...this.take(), encodeIndex(this.#platform, this.#seed, index)]
  }

  /** Returns the bytes to store. */
  #encodeHeavy(type: NewEvent['type'], text: Uint8Array, body: Uint8Array): Uint8Array {
    const isShort = body.length <= SHORT_BODY_MAX_BYTES
    const sha = isShort ? '' : this.#platform.sha256(body)
    const chain = this.#chain.addHeavy(text, body.length, isShort ? body : sha)
    if (type !== 'seal') this.#tree.add(chain)
    if (isShort) {
      this.#records.putPlainEnvelope(body.length, chain)
      return body
    }
    const { stored, envelope } = this.#bodies.encode(this.#seq, type, body, sha)
    this.#records.putEnvelope({ ...envelope, sha, chain })
    return stored
  }

  #advance(bytes: number, lineCrc: number): void {
    if (this.#seq === 0) this.#seed = lineCrc
    if (this.#seq % INDEX_EVERY === 0) this.#offsets.push(this.#end)
    this.#seq++
    this.#end += bytes
  }
}
