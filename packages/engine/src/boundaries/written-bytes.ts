import { createHash, type Hash } from 'node:crypto'
import { EMPTY, type Session } from '../sessions/session.js'

/** More than this that no answer was compared with is let go, uncompared. */
const BUFFERED_MAX_BYTES = 64 << 20

/**
 * How much the agent has written to something, and what. Writes to connections and
 * threads are not events: their exact moments are Node's own business. Each delivery carries
 * this stamp instead, and replay holds it back until as much was written.
 *
 * The agent may have written more by the time an answer from a tape is ready, so
 * what it wrote is kept until it was compared. Not promised: what is written after
 * all answers that are on the tape is not known to be the same.
 */
export class WrittenBytes {
  readonly #digest: Hash
  #count = 0
  /** Digest of everything before `#kept`. */
  readonly #compared: Hash
  #comparedCount = 0
  /** Undefined once something is missing in it: it went to the outside, or is too much. */
  #buffered: Uint8Array[] | undefined = []

  constructor(readonly session: Session) {
    const key = session.secrets.digestKey ?? EMPTY
    this.#digest = createHash('sha256').update(key)
    this.#compared = createHash('sha256').update(key)
  }

  add(bytes: Uint8Array): void {
    const masked = this.session.secrets.unredacted.bytes(bytes)
    this.#count += masked.length
    this.#digest.update(masked)
    const isCompared = this.session.remote === 'tape'
    if (!isCompared || this.#count - this.#comparedCount > BUFFERED_MAX_BYTES)
      this.#buffered = undefined
    // A copy: the agent may use its buffer again.
    this.#buffered?.push(Uint8Array.from(masked))
  }

  get count(): number {
    return this.#count
  }

  stamp(): { written: number; digest: string } {
    return {
      written: this.#count,
      digest: this.#count === 0 ? '' : this.#digest.copy().digest('hex'),
    }
  }

  /** Digest of the first bytes up to a length; undefined if they are no longer known. */
  digestAt(count: number): string | undefined {
    if (count === this.#count) return this.stamp().digest
    if (count === 0) return ''
    while (this.#comparedCount < count) {
      const piece = this.#buffered?.shift()
      if (piece === undefined) return undefined
      const part = piece.subarray(0, count - this.#comparedCount)
      if (part.length < piece.length) this.#buffered?.unshift(piece.subarray(part.length))
      this.#compared.update(part)
      this.#comparedCount += part.length
    }
    return this.#comparedCount === count ? this.#compared.copy().digest('hex') : undefined
  }
}
