import { firstIndex } from './values/collections.js'
import { bodySize, type Envelope } from './codec.js'
import { fromOps, fromParts, literal, type Recipe } from './recipe.js'
import type { TapePlatform } from './platform.js'
import { tapeErrors } from './errors.js'
import { type Frame, type Frames, inflatedMaxBytes } from './frames.js'

const EMPTY = new Uint8Array(0)
const CACHE_MAX_BODIES = 16
const CACHE_MAX_BODY_BYTES = 4 << 20

/** Pieces of one body, over all recipes that it follows. A long conversation has a few thousand. */
const RANGES_MAX = 1 << 20
/** Events whose bodies make one body. */
const SOURCES_MAX = 1 << 16
/**
 * All bodies of a tape that are made by recipes, together: a few bytes can name gigabytes again and
 * again. The bodies of a conversation of 10,000 turns have a few gigabytes.
 */
const ASSEMBLED_MAX_BYTES = 4 * 2 ** 30
const ASSEMBLED_MAX_RATIO = 1000
/** Cost of a piece, in bytes that can be copied in the same time. */
const RANGE_BYTES = 256
/** Bodies below this are not counted. */
const COUNTED_MIN_BYTES = 64 << 10

/** Bytes `[from, to)` of a body, to be copied to offset `at` of the result. */
interface Wanted {
  readonly from: number
  readonly to: number
  readonly at: number
}

/** A body from which any range can be read. */
interface Source {
  readonly recipe: Recipe
  /** Start of each piece in the body. */
  readonly starts: readonly number[]
  /** Start of each literal in the literals. */
  readonly literalStarts: readonly number[]
  readonly literals: () => Uint8Array
}

/**
 * Restores recorded bodies, in any order. Follows a delta from event to event, visits each event
 * once, and copies only the needed ranges.
 */
export class BodyReader {
  /** Recently read bodies, oldest first: the next request is usually a delta on one of them. */
  readonly #cache = new Map<number, Uint8Array>()
  /** Large bodies that were assembled. */
  readonly #counted = new Set<number>()
  #assembledBytes = 0

  constructor(
    private readonly platform: TapePlatform,
    private readonly frames: Frames,
    /** Path and length of the file. */
    private readonly tape: { readonly path: string; readonly bytes: number },
  ) {}

  read(seq: number): Uint8Array {
    const frame = this.frames.frame(seq)
    const envelope = frame.envelope()
    const size = bodySize(envelope)
    if (size === 0) {
      if (envelope.stored === undefined) return EMPTY
      throw this.#corrupt(seq, 'It stores bytes, but its body is empty.')
    }
    const isRaw = [envelope.deflate, envelope.same, envelope.base, envelope.parts].every(
      (field) => field === undefined,
    )
    const body = isRaw ? this.frames.stored(frame) : this.#assemble(seq, size)
    if (body.length !== size) throw this.#corrupt(seq, 'Its body has another length than recorded.')
    if (envelope.sha !== undefined) {
      if (this.platform.sha256(body) !== envelope.sha) {
        throw this.#corrupt(seq, 'Its body does not have the recorded sha256.')
      }
      this.#remember(seq, body)
    }
    return body
  }

  #assemble(seq: number, size: number): Uint8Array {
    const body = this.#allocate(seq, size)
    const wanted = new WantedRanges()
    wanted.add(seq, { from: 0, to: size, at: 0 })
    // Recipes only name earlier events, so the latest one cannot be needed again.
    for (let latest = wanted.takeLatest(); latest; latest = wanted.takeLatest()) {
      const cached = this.#cache.get(latest.seq)
      if (cached !== undefined) {
        for (const { from, to, at } of latest.ranges) body.set(cached.subarray(from, to), at)
        continue
      }
      const source = this.#source(latest.seq)
      for (const range of latest.ranges) copyRange(source, range, body, wanted)
      if (wanted.isTooLarge) throw this.#corrupt(seq, 'Its body is made of too many pieces.')
    }
    const cost = size + wanted.count * RANGE_BYTES
    if (cost < COUNTED_MIN_BYTES || this.#counted.has(seq)) return body
    this.#counted.add(seq)
    this.#assembledBytes += cost
    if (this.#assembledBytes > ASSEMBLED_MAX_BYTES + ASSEMBLED_MAX_RATIO * this.tape.bytes)
      throw this.#corrupt(
        seq,
        'The bodies up to here are far too large for the length of the tape.',
      )
    return body
  }

  #source(seq: number): Source {
    const frame = this.frames.frame(seq)
    const envelope = frame.envelope()
    const size = bodySize(envelope)
    const recipe = recipeOf(envelope, size)
    const starts: number[] = []
    const literalStarts: number[] = []
    let at = 0
    let literalAt = 0
    for (const { source, offset, length } of recipe) {
      const isThere =
        source === undefined ||
        (source < seq &&
          offset >= 0 &&
          offset + length <= bodySize(this.frames.frame(source).envelope()))
      if (!isThere || length < 0) {
        throw this.#corrupt(seq, 'Its recipe names bytes that are not there.')
      }
      starts.push(at)
      literalStarts.push(literalAt)
      at += length
      if (source === undefined) literalAt += length
    }
    // Nothing would look at them, but a packer would.
    if (literalAt === 0 && envelope.stored !== undefined)
      throw this.#corrupt(seq, 'It stores bytes that its recipe does not use.')
    if (at !== size) throw this.#corrupt(seq, 'Its recipe gives another length than recorded.')
    let literals: Uint8Array | undefined
    return {
      recipe,
      starts,
      literalStarts,
      literals: () => (literals ??= this.#literals(seq, frame, envelope, literalAt)),
    }
  }

  #literals(seq: number, frame: Frame, envelope: Envelope, length: number): Uint8Array {
    let literals = this.frames.stored(frame)
    try {
      if (envelope.deflate !== undefined) literals = this.platform.inflateRaw(literals, length)
    } catch (error) {
      throw this.#corrupt(seq, 'Its stored bytes cannot be inflated.', error)
    }
    if (literals.length !== length) {
      throw this.#corrupt(seq, 'It stores another number of bytes than its recipe uses.')
    }
    return literals
  }

  #allocate(seq: number, size: number): Uint8Array {
    if (size > inflatedMaxBytes(this.tape.bytes))
      throw this.#corrupt(seq, `It claims a body of ${size} bytes.`)
    try {
      return new Uint8Array(size)
    } catch (error) {
      throw this.#corrupt(seq, `Its body of ${size} bytes does not fit into memory.`, error)
    }
  }

  #remember(seq: number, body: Uint8Array): void {
    if (body.length > CACHE_MAX_BODY_BYTES) return
    // A copy, because the caller may change the bytes.
    if (this.#cache.has(seq)) this.#cache.delete(seq)
    this.#cache.set(seq, new Uint8Array(body))
    const [oldest] = this.#cache.keys()
    if (this.#cache.size > CACHE_MAX_BODIES && oldest !== undefined) this.#cache.delete(oldest)
  }

  #corrupt(seq: number, why: string, cause?: unknown): Error {
    return tapeErrors.TAPE_CORRUPT(this.tape.path, { seq }, why, cause)
  }
}

/** Number of bytes of a body that are stored with its own record. */
export function literalBytes(envelope: Envelope): number {
  const recipe = recipeOf(envelope, bodySize(envelope))
  return recipe.reduce((sum, { source, length }) => sum + (source === undefined ? length : 0), 0)
}

/** Ranges that are still to be copied, by the event in whose body they are. */
class WantedRanges {
  readonly #bySeq = new Map<number, Wanted[]>()
  /** Its keys, ascending. */
  readonly #order: number[] = []
  /** Number of all ranges so far. */
  count = 0

  get isTooLarge(): boolean {
    return this.count > RANGES_MAX || this.#order.length > SOURCES_MAX
  }

  add(seq: number, range: Wanted): void {
    this.count++
    const ranges = this.#bySeq.get(seq)
    if (ranges !== undefined) {
      ranges.push(range)
      return
    }
    this.#bySeq.set(seq, [range])
    this.#order.splice(
      firstIndex(this.#order, (other) => other > seq),
      0,
      seq,
    )
  }

  takeLatest(): { readonly seq: number; readonly ranges: readonly Wanted[] } | undefined {
    const seq = this.#order.pop()
    if (seq === undefined) return undefined
    const ranges = this.#bySeq.get(seq) ?? []
    this.#bySeq.delete(seq)
    return { seq, ranges }
  }
}

function recipeOf(envelope: Envelope, size: number): Recipe {
  if (envelope.same !== undefined) return [{ source: envelope.same, offset: 0, length: size }]
  if (envelope.base !== undefined) return fromOps(envelope.base, envelope.ops ?? [])
  if (envelope.parts !== undefined) return fromParts(envelope.parts)
  return [literal(size)]
}

function copyRange(source: Source, range: Wanted, body: Uint8Array, wanted: WantedRanges): void {
  const { recipe, starts, literalStarts } = source
  const first = firstIndex(starts, (start) => start > range.from) - 1
  for (let i = Math.max(0, first); i < recipe.length; i++) {
    const piece = recipe[i] ?? literal(0)
    const start = starts[i] ?? 0
    if (start >= range.to) break
    const from = Math.max(range.from, start)
    const to = Math.min(range.to, start + piece.length)
    if (from >= to) continue
    const at = range.at + from - range.from
    if (piece.source === undefined) {
      const shift = (literalStarts[i] ?? 0) - start
      body.set(source.literals().subarray(from + shift, to + shift), at)
    } else {
      const shift = piece.offset - start
      wanted.add(piece.source, { from: from + shift, to: to + shift, at })
      if (wanted.isTooLarge) return
    }
  }
}
