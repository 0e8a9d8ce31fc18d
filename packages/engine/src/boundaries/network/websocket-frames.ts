const MASKED = 0x80
const LENGTH = 0x7f
const MASK_BYTES = 4

/**
 * Parses the frames that a WebSocket client sends. Each has a random mask that hides its content
 * from proxies. Node's own client takes masks from a copy of a native function, so that they cannot
 * be recorded; what is compared is the content.
 */
export class WebSocketFrames {
  /** The beginning of the current frame, until its content starts. */
  #header: number[] = []
  /** Remaining bytes of the content. */
  #left = 0
  #mask: readonly number[] = []
  #contentAt = 0

  /** The client's bytes with masks of zeros and unmasked content. */
  written(chunk: Uint8Array): Uint8Array {
    const bytes = Uint8Array.from(chunk)
    let at = 0
    while (at < bytes.length) {
      if (this.#left > 0) {
        const end = Math.min(bytes.length, at + this.#left)
        this.#left -= end - at
        for (; at < end; at++)
          bytes[at] = (bytes[at] ?? 0) ^ (this.#mask[this.#contentAt++ % MASK_BYTES] ?? 0)
        continue
      }
      this.#header.push(bytes[at] ?? 0)
      if (this.#header.length > this.#maskAt) bytes[at] = 0
      at++
      const header = this.#header
      if (header.length < this.#maskAt + this.#maskBytes) continue
      const long = header.slice(2, this.#maskAt)
      this.#left =
        long.length === 0
          ? (header[1] ?? 0) & LENGTH
          : long.reduce((length, byte) => length * 256 + byte, 0)
      this.#mask = header.slice(this.#maskAt)
      this.#contentAt = 0
      this.#header = []
    }
    return bytes
  }

  get #maskBytes(): number {
    return ((this.#header[1] ?? MASKED) & MASKED) === 0 ? 0 : MASK_BYTES
  }

  /** Lengths above 125 follow in 2 or 8 bytes. */
  get #maskAt(): number {
    const length = (this.#header[1] ?? 0) & LENGTH
    if (length < 126) return 2
    return length === 126 ? 4 : 10
  }
}
