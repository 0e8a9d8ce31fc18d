import { createHash, type Hash } from 'node:crypto'
import { EMPTY, type Session } from '../../kernel/session.js'

/** Above this limit, bytes that no answer was compared with are dropped. */
const BUFFERED_MAX_BYTES = 64 << 20

/**
 * Counts and digests the bytes that the agent has written to something. Writes to connections and
 * threads are not events, because Node decides their exact moments. Instead, each delivery has the
 * count at that time, and a replay delays it until as much was written. The agent may have written
 * more by the time a recorded answer is ready, so its writes are buffered until they are compared.
 * Not promised: writes after the last recorded answer are not compared.
 */
export class WrittenBytes {
  readonly #digest: Hash
  count = 0
  /** Digest of everything before `#buffered`. */
  readonly #compared: Hash
  #comparedCount = 0
  /** Undefined once some of them are missing, because they were sent outside or exceeded the limit. */
  #buffered: Uint8Array[] | undefined = []

  constructor(readonly session: Session) {
    const key = session.secrets.digestKey ?? EMPTY
    this.#digest = createHash('sha256').update(key)
    this.#compared = createHash('sha256').update(key)
  }

  add(bytes: Uint8Array): void {
    const masked = this.session.secrets.unredacted.bytes(bytes)
    this.count += masked.length
    this.#digest.update(masked)
    const isCompared = this.session.remote === 'tape'
    if (!isCompared || this.count - this.#comparedCount > BUFFERED_MAX_BYTES)
      this.#buffered = undefined
    // A copy, because the agent may reuse its buffer.
    this.#buffered?.push(Uint8Array.from(masked))
  }

  stamp(): { written: number; digest: string } {
    return {
      written: this.count,
      digest: this.count === 0 ? '' : this.#digest.copy().digest('hex'),
    }
  }

  /** Digest of the first `count` bytes; undefined if they are no longer buffered. */
  digestAt(count: number): string | undefined {
    if (count === this.count) return this.stamp().digest
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
