import type { ByteSource } from './platform.js'

const NEWLINE = 10

/**
 * A moving view of a byte source, for code that walks forward through a tape of any size. A view
 * may be invalid after the next call.
 */
export class ByteWindow {
  readonly source: ByteSource
  readonly #spanBytes: number
  bytes: Uint8Array = new Uint8Array(0)
  /** Offset of `bytes[0]` in the source. */
  start = 0

  constructor(source: ByteSource, spanBytes = 1 << 18) {
    this.source = source
    this.#spanBytes = spanBytes
  }

  /** Loads `length` bytes from `offset`, fewer at the end; returns their index in `bytes`. */
  show(offset: number, length: number): number {
    const index = offset - this.start
    if (index >= 0 && index + length <= this.bytes.length) return index
    const room = Math.max(0, this.source.size - offset)
    const wanted = Math.min(room, length)
    if (index >= 0 && index + wanted <= this.bytes.length) return index
    this.bytes = this.source.read(offset, Math.min(room, Math.max(length, this.#spanBytes)))
    this.start = offset
    return 0
  }

  /** Offset of the first newline at or after `offset`; -1 if there is none. The line is in view. */
  newline(offset: number): number {
    for (let span = 512; ; span *= 4) {
      const index = this.show(offset, span)
      const found = this.bytes.indexOf(NEWLINE, index)
      if (found >= 0) return this.start + found
      if (this.start + this.bytes.length >= this.source.size || this.bytes.length === index)
        return -1
    }
  }
}
