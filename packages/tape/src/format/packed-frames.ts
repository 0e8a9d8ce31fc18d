import { ByteWindow } from './byte-window.js'
import { checkLine, type Envelope, parseEnvelope } from './codec.js'
import type { ByteSource, TapePlatform } from './platform.js'
import { type TapeError, tapeErrors } from './errors.js'
import { Frame, type Frames } from './frames.js'
import type { TapeIndex } from './index-footer.js'
import type { Pack } from './pack.js'
import type { PlainFrames } from './plain-frames.js'

const TAB = 9
const NEWLINE = 10
/** A request may consist of pieces in many blocks. A platform may set a higher limit. */
const CACHE_MAX_BLOCKS = 32

interface OpenBlock {
  readonly from: number
  readonly content: Uint8Array
  readonly frames: readonly Frame[]
}

/** Records of a packed tape: the first and the last are stored alone, the others in blocks. */
export class PackedFrames implements Frames {
  readonly count: number
  /** Recently opened blocks, oldest first. */
  readonly #cache = new Map<number, OpenBlock>()
  /** The block used last, which is usually needed again. */
  #current: OpenBlock | undefined

  constructor(
    private readonly platform: TapePlatform,
    private readonly source: ByteSource,
    private readonly layout: {
      readonly seed: number
      readonly path: string
      readonly blocks: NonNullable<TapeIndex['blocks']>
      /** Gives access to the run record and the seal. */
      readonly ends: PlainFrames
    },
  ) {
    this.count = layout.ends.count
  }

  frame(seq: number): Frame {
    if (this.#isStoredApart(seq)) return this.layout.ends.frame(seq)
    const block = this.#block(seq)
    const frame = block.frames[seq - block.from]
    if (frame === undefined) throw this.#corrupt(seq, 'No block contains it.')
    return frame
  }

  stored(frame: Frame): Uint8Array {
    const { seq, stored } = frame.line
    if (this.#isStoredApart(seq)) return this.layout.ends.stored(frame)
    const { content } = this.#block(seq)
    return new Uint8Array(content.subarray(frame.bodyOffset, frame.bodyOffset + stored))
  }

  #isStoredApart(seq: number): boolean {
    return seq === 0 || seq === this.count - 1
  }

  #block(seq: number): OpenBlock {
    const current = this.#current
    if (current && seq >= current.from && seq < current.from + current.frames.length) return current
    return (this.#current = this.#findBlock(seq))
  }

  #findBlock(seq: number): OpenBlock {
    const [from, offset] = this.layout.blocks.findLast(([first]) => first <= seq) ?? [0, 0]
    const known = this.#cache.get(from)
    if (known !== undefined) return known
    const block = this.#open(from, offset)
    this.#cache.set(from, block)
    const [oldest] = this.#cache.keys()
    const limit = this.platform.openBlocksMax ?? CACHE_MAX_BLOCKS
    if (this.#cache.size > limit && oldest !== undefined) this.#cache.delete(oldest)
    return block
  }

  #open(from: number, offset: number): OpenBlock {
    const window = new ByteWindow(this.source, 1 << 12)
    const newline = window.newline(offset)
    const start = offset - window.start
    const end = newline - window.start
    if (newline < 0 || checkLine(this.platform, this.layout.seed, window.bytes, start, end) < 0) {
      throw this.#corrupt(from, 'Its block was changed after it was written.')
    }
    const [head = '', tail = ''] = this.platform.text(window.bytes, start, end).split('\t')
    const { pack } = JSON.parse(head) as { readonly pack: Pack }
    const envelope = parseEnvelope(tail)
    const content = this.#content(from, newline + 1, envelope)
    const frames = this.#frames(pack, content)
    if (pack.from !== from || frames.length !== pack.count) {
      throw this.#corrupt(from, 'Its block does not contain the events that the index says.')
    }
    this.#checkNeighbours(from, offset, newline + 1 + (envelope.stored ?? 0) + 1)
    return { from, content, frames }
  }

  /** Run record, blocks and seal must be adjacent: no hash would cover bytes between them. */
  #checkNeighbours(from: number, offset: number, end: number): void {
    const at = this.layout.blocks.findIndex(([first]) => first === from)
    const next = this.layout.blocks[at + 1]?.[1] ?? this.layout.ends.frame(this.count - 1).offset
    const startsRight = at > 0 || this.layout.ends.frame(0).next === offset
    if (!startsRight || next !== end)
      throw this.#corrupt(from, 'There are bytes beside its block that belong to no event.')
  }

  #content(from: number, offset: number, envelope: Envelope): Uint8Array {
    const length = envelope.stored ?? 0
    const bytes = this.source.read(offset, length + 1)
    const stored = bytes.subarray(0, length)
    const crc = this.platform.crc32(stored, this.layout.seed)
    if (crc !== parseInt((envelope.crc ?? '').slice(0, 8), 16) || bytes[length] !== NEWLINE) {
      throw this.#corrupt(from, 'Its block was changed after it was written.')
    }
    try {
      return this.platform.inflateRaw(stored)
    } catch (error) {
      throw this.#corrupt(from, 'Its block cannot be inflated.', error)
    }
  }

  #frames(pack: Pack, content: Uint8Array): Frame[] {
    const frames: Frame[] = []
    let bodyOffset = pack.lines
    for (let offset = 0; offset < pack.lines;) {
      const end = content.indexOf(NEWLINE, offset)
      const tab = content.indexOf(TAB, offset)
      const { stored = 0 } = parseEnvelope(this.platform.text(content, tab + 1, end))
      const seq = pack.from + frames.length
      const line = { seq, eventBytes: tab - offset, stored, storedCrc: 0, crc: 0 }
      const position = { offset, bodyOffset, bytes: content, start: offset, end }
      frames.push(new Frame(this.platform, line, position))
      bodyOffset += stored
      offset = end + 1
    }
    if (bodyOffset !== content.length)
      throw this.#corrupt(pack.from, 'Its block contains bytes that belong to no event.')
    return frames
  }

  #corrupt(seq: number, why: string, cause?: unknown): TapeError {
    return tapeErrors.TAPE_CORRUPT(this.layout.path, { seq }, why, cause)
  }
}
