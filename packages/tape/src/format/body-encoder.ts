import { SHORT_BODY_MAX_BYTES } from './chain.js'
import type { Envelope } from './codec.js'
import { DeltaEncoder } from './delta-encoder.js'
import { toOps, toParts } from './recipe.js'
import type { WriterPlatform } from './platform.js'
import type { TapeEvent } from './events.js'
import { joinBytes } from './values/bytes.js'

/**
 * Smaller bodies are not compressed: it saves a few bytes, and starting zlib takes longer than all
 * other work on an event.
 */
const DEFLATE_MIN_BYTES = 256
/**
 * Bodies other than requests are compressed while recording only between these sizes. Below, the
 * saved bytes are not worth the delay; above, the agent would wait too long. Packing compresses
 * them later.
 */
const WHOLE_MIN_BYTES = 8 << 10
const DEFLATE_MAX_BYTES = 8 << 20
/** New text of requests makes up most of a tape, so it is worth more time than what is packed later anyway. */
const LITERALS_LEVEL = 5
const WHOLE_LEVEL = 3
/** Bodies that mostly repeat earlier ones: conversations, and states of adapters. */
const GROWING: ReadonlySet<TapeEvent['type']> = new Set(['request', 'note'])
/** Maximum number of bodies remembered for deduplication. */
const SHAS_MAX = 1 << 16

const EMPTY = new Uint8Array(0)

export interface StoredBody {
  readonly stored: Uint8Array
  readonly envelope: Envelope
}

/**
 * Chooses how to store each long body of a heavy event: by reference if it was seen before, as a
 * delta if it grows from one to the next, compressed if that is smaller.
 */
export class BodyEncoder {
  readonly #platform: WriterPlatform
  readonly #deltas: DeltaEncoder
  readonly #seqBySha = new Map<string, number>()

  constructor(platform: WriterPlatform) {
    this.#platform = platform
    this.#deltas = new DeltaEncoder(platform)
  }

  /** Registers a body that is already on the tape. */
  skip(seq: number, sha: string): void {
    this.#remember(sha, seq)
  }

  /** Registers a request that is already on the tape, to compare later ones with it. */
  skipRequest(seq: number, body: Uint8Array): void {
    if (body.length > SHORT_BODY_MAX_BYTES) this.#deltas.addWhole(seq, body)
  }

  encode(seq: number, type: TapeEvent['type'], body: Uint8Array, sha: string): StoredBody {
    const size = body.length
    const same = this.#seqBySha.get(sha)
    if (same !== undefined) return { stored: EMPTY, envelope: { size, same } }
    this.#remember(sha, seq)
    if (!GROWING.has(type)) {
      return size < WHOLE_MIN_BYTES
        ? { stored: body, envelope: { stored: size } }
        : this.#compress(body, WHOLE_LEVEL, size)
    }
    const delta = this.#deltas.encode(seq, body)
    if (delta === undefined) {
      this.#deltas.addWhole(seq, body)
      return this.#compress(body, LITERALS_LEVEL, size)
    }
    const { base, recipe, literals } = delta
    const fields = base === undefined ? { parts: toParts(recipe) } : { base, ops: toOps(recipe) }
    return this.#compress(joinBytes(literals), LITERALS_LEVEL, size, fields)
  }

  #compress(bytes: Uint8Array, level: number, size: number, fields: Envelope = {}): StoredBody {
    const deflated =
      bytes.length >= DEFLATE_MIN_BYTES && bytes.length <= DEFLATE_MAX_BYTES
        ? this.#platform.deflateRaw(bytes, level)
        : bytes
    const smaller = deflated.length < bytes.length
    const stored = smaller ? deflated : bytes
    return {
      stored,
      envelope: {
        ...(stored.length > 0 ? { stored: stored.length } : {}),
        ...(stored.length === size ? {} : { size }),
        ...(smaller ? { deflate: 1 } : {}),
        ...fields,
      },
    }
  }

  #remember(sha: string, seq: number): void {
    if (this.#seqBySha.size >= SHAS_MAX) {
      for (const oldest of this.#seqBySha.keys()) {
        this.#seqBySha.delete(oldest)
        break
      }
    }
    if (!this.#seqBySha.has(sha)) this.#seqBySha.set(sha, seq)
  }
}
