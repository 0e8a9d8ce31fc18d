import { ByteWindow } from './byte-window.js'
import { checkLine, type Envelope, type Line, type LineSeed } from './codec.js'
import { parseEnvelope, parseEvent, readLine, RecordFault } from './codec.js'
import { type TapeError, tapeErrors } from './errors.js'
import type { TapeEvent } from './events.js'
import type { TapeIndex } from './index-footer.js'
import type { Pack } from './pack.js'
import type { ByteSource, TapePlatform } from './platform.js'

const TAB = 9
const NEWLINE = 10

/** A record on the tape: its header line, and the position of its stored bytes. */
export class Frame {
  readonly line: Line
  /** Offset of the record; in a packed tape, inside its block. */
  readonly offset: number
  readonly bodyOffset: number
  readonly #platform: TapePlatform
  readonly #path: string
  readonly #bytes: Uint8Array
  readonly #start: number
  readonly #end: number
  #envelope: Envelope | undefined

  /** The header line is `bytes[start, end)`. */
  constructor(
    platform: TapePlatform,
    line: Line,
    position: {
      readonly offset: number
      readonly bodyOffset: number
      readonly bytes: Uint8Array
      readonly start: number
      readonly end: number
      /** Path of the tape, for messages. */
      readonly path: string
    },
  ) {
    this.#platform = platform
    this.#path = position.path
    this.line = line
    this.offset = position.offset
    this.bodyOffset = position.bodyOffset
    this.#bytes = position.bytes
    this.#start = position.start
    this.#end = position.end
  }

  get next(): number {
    return this.line.stored > 0 ? this.bodyOffset + this.line.stored + 1 : this.bodyOffset
  }

  get eventText(): string {
    return this.#platform.text(this.#bytes, this.#start, this.#start + this.line.eventBytes)
  }

  get envelopeText(): string {
    return this.#platform.text(this.#bytes, this.#start + this.line.eventBytes + 1, this.#end)
  }

  /** The event text as bytes, as hashes cover it. */
  get eventBytes(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#start + this.line.eventBytes)
  }

  /** Throws `TAPE_CORRUPT` unless it is an event that a recorder could have written here. */
  event(): TapeEvent {
    return this.#checked(() => parseEvent(this.eventText, this.line.seq))
  }

  /** The same for the envelope. */
  envelope(): Envelope {
    return (this.#envelope ??= this.#checked(() => {
      const envelope = parseEnvelope(this.envelopeText, this.line.seq)
      // A scan reads the number from the start of the line.
      if ((envelope.stored ?? 0) !== this.line.stored)
        throw new RecordFault('Its envelope names two lengths.')
      return envelope
    }))
  }

  #checked<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof RecordFault)) throw error
      const at = { seq: this.line.seq, offset: this.offset }
      throw tapeErrors.TAPE_CORRUPT(this.#path, at, error.message, error)
    }
  }
}

/** Access to the records of a tape by number, in any layout. */
export interface Frames {
  readonly count: number
  /** Throws `TAPE_CORRUPT` if the record is damaged. */
  frame(seq: number): Frame
  /** The stored bytes, checked against their CRC. */
  stored(frame: Frame): Uint8Array
}

/** Why there is no record at an offset. */
export type FrameFault = 'end' | 'no-line' | 'bad-line' | 'wrong-seq' | 'short-body'

/** Parses the header line at `offset`, without its stored bytes. */
export function readFrame(
  platform: TapePlatform,
  window: ByteWindow,
  seed: LineSeed,
  offset: number,
  seq: number,
  path = '',
): Frame | FrameFault {
  if (offset >= window.source.size) return 'end'
  const newline = window.newline(offset)
  if (newline < 0) return 'no-line'
  const { bytes } = window
  const start = offset - window.start
  const end = newline - window.start
  const line = readLine(platform, seed, bytes, start, end)
  if (line === undefined) return 'bad-line'
  if (line.seq !== seq) return 'wrong-seq'
  const bodyOffset = newline + 1
  const frame = new Frame(platform, line, { offset, bodyOffset, bytes, start, end, path })
  return frame.next > window.source.size ? 'short-body' : frame
}

/** True if the stored bytes of a frame and their closing newline are intact. */
export function storedIsWhole(
  platform: TapePlatform,
  window: ByteWindow,
  seed: number,
  frame: Frame,
): boolean {
  if (frame.line.stored === 0) return true
  const pieceBytes = 1 << 20
  const end = frame.next - 1
  let crc = seed
  for (let at = frame.bodyOffset; at < end;) {
    const length = Math.min(pieceBytes, end - at)
    const index = window.show(at, length + 1)
    const piece = window.bytes.subarray(index, index + length)
    if (piece.length < length) return false
    crc = platform.crc32(piece, crc)
    at += length
  }
  const last = window.show(end, 1)
  return crc === frame.line.storedCrc && window.bytes[last] === NEWLINE
}

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
        this.#path,
      )
      if (typeof frame === 'string') {
        throw tapeErrors.TAPE_CORRUPT(
          this.#path,
          { seq: at, offset },
          'Its header line was changed after it was written.',
        )
      }
      if (at + 1 < this.count) {
        // Records are adjacent, so an index with a gap hides a record.
        const known = this.#offsets[at + 1] ?? -1
        if (known >= 0 && known !== frame.next) {
          throw tapeErrors.TAPE_CORRUPT(
            this.#path,
            { seq: at + 1, offset: frame.next },
            `The index of the tape names byte ${known}, but the record before it ends here.`,
          )
        }
        this.#offsets[at + 1] = frame.next
      }
      if (at === seq) return (this.#last = frame)
      at++
    }
  }

  stored(frame: Frame): Uint8Array {
    const { line, bodyOffset } = frame
    if (line.stored === 0) return new Uint8Array(0)
    const seed = line.seq === 0 ? 0 : this.#seed
    const length = line.stored + 1
    // Large ranges bypass the window, which would cache them.
    const isLarge = length > WINDOW_MAX_BYTES
    const index = isLarge ? 0 : this.#window.show(bodyOffset, length)
    const view = isLarge
      ? this.#window.source.read(bodyOffset, length)
      : this.#window.bytes.subarray(index, index + length)
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
}

/** A request may consist of pieces in many blocks. A platform may set a higher limit. */
const CACHE_MAX_BLOCKS = 32
/** Usual size of a block with the rest of the record that closed it. */
const BLOCK_BYTES = 512 << 10

interface OpenBlock {
  readonly from: number
  readonly content: Uint8Array
  readonly frames: readonly Frame[]
}

const isNatural = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const INFLATED_MAX_BYTES = 256 << 20
const INFLATED_MAX_RATIO = 100

/**
 * Maximum size of anything that is made from so many bytes of a tape: its blocks and its bodies.
 * The writer stays below it.
 */
export const inflatedMaxBytes = (bytes: number): number =>
  Math.max(INFLATED_MAX_BYTES, INFLATED_MAX_RATIO * bytes)

/** Records of a packed tape: the first and the last are stored alone, the others in blocks. */
export class PackedFrames implements Frames {
  readonly count: number
  /** Recently opened blocks, oldest first. */
  readonly #cache = new Map<number, OpenBlock>()
  #cachedBytes = 0
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
    const [from, offset] = this.layout.blocks.findLast(([first]) => first <= seq) ?? [0, 0]
    const known = this.#cache.get(from)
    if (known !== undefined) return (this.#current = known)
    const block = this.#open(from, offset)
    this.#cache.set(from, block)
    this.#cachedBytes += block.content.length
    const limit = this.platform.openBlocksMax ?? CACHE_MAX_BLOCKS
    for (const [oldest, { content }] of this.#cache) {
      if (this.#cache.size <= limit && this.#cachedBytes <= limit * BLOCK_BYTES) break
      this.#cache.delete(oldest)
      this.#cachedBytes -= content.length
    }
    return (this.#current = block)
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
    const { pack, envelope } = this.#head(from, head, tail)
    const content = this.#content(from, newline + 1, envelope)
    const frames = this.#frames(pack, content)
    if (pack.from !== from || frames.length !== pack.count) {
      throw this.#corrupt(from, 'Its block does not contain the events that the index says.')
    }
    // Run record, blocks and seal must be adjacent: no hash would cover bytes between them.
    const at = this.layout.blocks.findIndex(([first]) => first === from)
    const next = this.layout.blocks[at + 1]?.[1] ?? this.layout.ends.frame(this.count - 1).offset
    const startsRight = at > 0 || this.layout.ends.frame(0).next === offset
    if (!startsRight || next !== newline + 1 + (envelope.stored ?? 0) + 1)
      throw this.#corrupt(from, 'There are bytes beside its block that belong to no event.')
    return { from, content, frames }
  }

  #head(from: number, head: string, tail: string): { pack: Pack; envelope: Envelope } {
    try {
      const { pack } = JSON.parse(head) as { readonly pack: Pack }
      const envelope = parseEnvelope(tail, from)
      if ([pack.from, pack.count, pack.lines].every(isNatural)) return { pack, envelope }
    } catch (error) {
      throw this.#corrupt(from, 'The head of its block cannot be read.', error)
    }
    throw this.#corrupt(from, 'The head of its block has a number that cannot be.')
  }

  #content(from: number, offset: number, envelope: Envelope): Uint8Array {
    const { stored: length = 0, size = 0 } = envelope
    // A negative number would be a view of what comes before.
    const bytes = this.source.read(offset, Math.min(length, this.source.size) + 1)
    const stored = bytes.subarray(0, length)
    const crc = this.platform.crc32(stored, this.layout.seed)
    if (crc !== parseInt((envelope.crc ?? '').slice(0, 8), 16) || bytes[length] !== NEWLINE) {
      throw this.#corrupt(from, 'Its block was changed after it was written.')
    }
    if (size > inflatedMaxBytes(length))
      throw this.#corrupt(from, `Its block claims to inflate from ${length} to ${size} bytes.`)
    try {
      const content = this.platform.inflateRaw(stored, size)
      if (content.length === size) return content
    } catch (error) {
      throw this.#corrupt(from, 'Its block cannot be inflated.', error)
    }
    throw this.#corrupt(from, 'Its block has another length than recorded.')
  }

  #frames(pack: Pack, content: Uint8Array): Frame[] {
    const frames: Frame[] = []
    let bodyOffset = pack.lines
    for (let offset = 0; offset < pack.lines;) {
      const seq = pack.from + frames.length
      const end = content.indexOf(NEWLINE, offset)
      const tab = content.subarray(offset, Math.max(offset, end)).indexOf(TAB) + offset
      if (end < 0 || end >= pack.lines || tab < offset)
        throw this.#corrupt(seq, 'Its line in the block is incomplete.')
      let stored: number
      try {
        stored = parseEnvelope(this.platform.text(content, tab + 1, end), seq).stored ?? 0
      } catch (error) {
        if (!(error instanceof RecordFault)) throw error
        throw this.#corrupt(seq, error.message, error)
      }
      const line = { seq, eventBytes: tab - offset, stored, storedCrc: 0, crc: 0 }
      const { path } = this.layout
      const position = { offset, bodyOffset, bytes: content, start: offset, end, path }
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
