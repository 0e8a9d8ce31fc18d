import { ByteWindow } from './byte-window.js'
import type { ByteSource, TapeDoor } from './door.js'
import { tapeCorrupt } from './errors.js'
import { type Frame, type Frames, readFrame } from './frames.js'

/** Records that stand in the file one after the other, as the writer left them. */
export class PlainFrames implements Frames {
  readonly count: number
  readonly #door: TapeDoor
  readonly #window: ByteWindow
  readonly #seed: number
  readonly #path: string
  /** Offset of each record; -1 where it is not known yet. */
  readonly #offsets: Float64Array

  constructor(
    door: TapeDoor,
    source: ByteSource,
    layout: { readonly seed: number; readonly offsets: Float64Array; readonly path: string },
  ) {
    this.#door = door
    this.#window = new ByteWindow(source)
    this.#seed = layout.seed
    this.#offsets = layout.offsets
    this.#path = layout.path
    this.count = layout.offsets.length
  }

  frame(seq: number): Frame {
    let at = seq
    while ((this.#offsets[at] ?? -1) < 0) at--
    for (;;) {
      const offset = this.#offsets[at] ?? 0
      const frame = readFrame(this.#door, this.#window, at === 0 ? 0 : this.#seed, offset, at)
      if (typeof frame === 'string') {
        throw tapeCorrupt(
          this.#path,
          { seq: at, offset },
          'Its header line was changed after it was written.',
        )
      }
      if (at + 1 < this.count) this.#offsets[at + 1] = frame.next
      if (at === seq) return frame
      at++
    }
  }

  stored(frame: Frame): Uint8Array {
    const { line, bodyOffset } = frame
    const seed = line.seq === 0 ? 0 : this.#seed
    const index = this.#window.show(bodyOffset, line.stored)
    const bytes = new Uint8Array(this.#window.bytes.subarray(index, index + line.stored))
    if (bytes.length < line.stored || this.#door.crc32(bytes, seed) !== line.storedCrc) {
      throw tapeCorrupt(
        this.#path,
        { seq: line.seq, offset: bodyOffset },
        'Its stored bytes were changed after they were written.',
      )
    }
    return bytes
  }
}
