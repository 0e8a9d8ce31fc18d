import { ByteWindow } from './byte-window.js'
import type { LineSeed } from './codec.js'
import type { ByteSource, TapePlatform } from './platform.js'
import { tapeErrors } from './errors.js'
import { type Frame, type Frames, readFrame } from './frames.js'

const NEWLINE = 10
const WINDOW_MAX_BYTES = 1 << 20

/** Adjacent records in a file, as the writer wrote them. */
export class PlainFrames implements Frames {
  readonly count: number
  readonly #platform: TapePlatform
  readonly #window: ByteWindow
  readonly #seed: number
  readonly #lineSeed: LineSeed
  readonly #path: string
  /** Offset of each record; -1 if not known yet. */
  readonly #offsets: Float64Array
  /** The record read last: its event, its envelope and its body are usually read one after the other. */
  #last: Frame | undefined

  constructor(
    platform: TapePlatform,
    source: ByteSource,
    layout: {
      readonly seed: number
      readonly offsets: Float64Array
      readonly path: string
      /** True if every line was verified when the tape was opened; they are not checked again. */
      readonly checked?: boolean
    },
  ) {
    this.#platform = platform
    this.#window = new ByteWindow(source)
    this.#seed = layout.seed
    this.#lineSeed = layout.checked === true ? 'checked' : layout.seed
    this.#offsets = layout.offsets
    this.#path = layout.path
    this.count = layout.offsets.length
  }

  frame(seq: number): Frame {
    if (this.#last?.line.seq === seq) return this.#last
    let at = seq
    while ((this.#offsets[at] ?? -1) < 0) at--
    for (;;) {
      const offset = this.#offsets[at] ?? 0
      const frame = readFrame(
        this.#platform,
        this.#window,
        at === 0 ? 0 : this.#lineSeed,
        offset,
        at,
      )
      if (typeof frame === 'string') {
        throw tapeErrors.TAPE_CORRUPT(
          this.#path,
          { seq: at, offset },
          'Its header line was changed after it was written.',
        )
      }
      if (at + 1 < this.count) this.#putNext(at + 1, frame.next)
      if (at === seq) return (this.#last = frame)
      at++
    }
  }

  /** Records are adjacent, so an index with a gap hides something. */
  #putNext(seq: number, offset: number): void {
    const known = this.#offsets[seq] ?? -1
    if (known >= 0 && known !== offset) {
      throw tapeErrors.TAPE_CORRUPT(
        this.#path,
        { seq, offset },
        `The index of the tape names byte ${known}, but the record before it ends here.`,
      )
    }
    this.#offsets[seq] = offset
  }

  stored(frame: Frame): Uint8Array {
    const { line, bodyOffset } = frame
    if (line.stored === 0) return new Uint8Array(0)
    const seed = line.seq === 0 ? 0 : this.#seed
    const view = this.#view(bodyOffset, line.stored + 1)
    const bytes = new Uint8Array(view.subarray(0, line.stored))
    if (view[line.stored] !== NEWLINE || this.#platform.crc32(bytes, seed) !== line.storedCrc) {
      throw tapeErrors.TAPE_CORRUPT(
        this.#path,
        { seq: line.seq, offset: bodyOffset },
        'Its stored bytes were changed after they were written.',
      )
    }
    return bytes
  }

  /** Large pieces bypass the window, which would store them. */
  #view(offset: number, length: number): Uint8Array {
    if (length > WINDOW_MAX_BYTES) return this.#window.source.read(offset, length)
    const index = this.#window.show(offset, length)
    return this.#window.bytes.subarray(index, index + length)
  }
}
