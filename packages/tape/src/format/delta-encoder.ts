import type { WriterPlatform } from './platform.js'
import { GEAR, MATCH_MAX_BYTES, matchBlocks } from './match-blocks.js'
import { literal, type Piece, type Recipe } from './recipe.js'

/** On average, one position in this many bytes is part of a sketch. */
const SPACING_BITS = 10
/** Later bytes are ignored: a sketch need not be complete. */
const SKETCH_MAX_BYTES = 1 << 21

/**
 * Hashes of the 32 bytes before certain positions, which are selected by those bytes alone. Bodies
 * with common text have common hashes, wherever the text is. Computed on first use.
 */
function lazySketch(body: Uint8Array): () => ReadonlySet<number> {
  let sketch: Set<number> | undefined
  return () => {
    if (sketch !== undefined) return sketch
    sketch = new Set()
    const length = Math.min(body.length, SKETCH_MAX_BYTES)
    let hash = 0
    for (let i = 0; i < length; i++) {
      hash = ((hash << 1) + (GEAR[body[i] ?? 0] ?? 0)) | 0
      if (hash >>> (32 - SPACING_BITS) === 0) sketch.add(hash)
    }
    return sketch
  }
}

/** Maximum number of concurrent conversations, and thus of bodies stored for comparison. */
const HEADS_MAX = 16
/** Maximum total size of those bodies; the last one is always stored. */
const HEADS_MAX_BYTES = 256 << 20
/** Maximum length of a chain of deltas before one names its sources directly, which bounds the cost of a read. */
const DEPTH_MAX = 64
/** Smaller middles are not worth a block match. */
const MATCH_MIN_BYTES = 1024
const CANDIDATES_MAX = 2

/** The last body of one conversation. */
interface Head {
  readonly seq: number
  readonly body: Uint8Array
  /** Computed when first needed. */
  readonly sketch: () => ReadonlySet<number>
  /** The body in terms of the bytes stored with each event. */
  readonly rope: Recipe
  readonly depth: number
}

/** Lengths of the common prefix and suffix of a body and a head. */
interface Ends {
  readonly head: Head
  readonly prefix: number
  readonly suffix: number
}

interface Match {
  readonly head: Head
  readonly pieces: Recipe
  readonly copied: number
}

/** A body as a recipe over earlier ones; `literals` are the bytes that it stores itself. */
export interface Delta {
  /** The only source of the recipe; missing if there are several. */
  readonly base?: number
  readonly recipe: Recipe
  readonly literals: readonly Uint8Array[]
}

/**
 * Stores only the new parts of request bodies. Each request of an agent repeats the conversation so
 * far, so a body is compared with the last body of the 16 most recent conversations: first its
 * ends, then blocks of 32 bytes in the differing middle.
 */
export class DeltaEncoder {
  readonly #equal: WriterPlatform['equal']
  readonly #depthMax: number
  readonly #bytesMax: number
  /** Most recently used first. */
  readonly #heads: Head[] = []

  constructor(
    platform: Pick<WriterPlatform, 'equal'>,
    options: { readonly depthMax?: number; readonly bytesMax?: number } = {},
  ) {
    this.#depthMax = options.depthMax ?? DEPTH_MAX
    this.#bytesMax = options.bytesMax ?? HEADS_MAX_BYTES
    this.#equal = (a, aFrom, b, bFrom, length) => platform.equal(a, aFrom, b, bFrom, length)
  }

  /** Registers a body that is stored whole, to compare later ones with it. */
  addWhole(seq: number, body: Uint8Array): void {
    const rope = [{ source: seq, offset: 0, length: body.length }]
    const copy = new Uint8Array(body)
    this.#addHead({ seq, body: copy, sketch: lazySketch(copy), rope, depth: 0 })
  }

  /** The body as a delta; `undefined` if too little of it is known, so that it should be stored whole. */
  encode(seq: number, body: Uint8Array): Delta | undefined {
    const copy = new Uint8Array(body)
    const sketch = lazySketch(copy)
    const match = this.#bestMatch(body, sketch)
    if (match === undefined || match.copied < body.length * 0.1) return undefined
    const { head, pieces } = match
    const rope = composeRope(seq, pieces, head.rope)
    const literals: Uint8Array[] = []
    let at = 0
    for (const { source, length } of pieces) {
      if (source === undefined) literals.push(body.subarray(at, at + length))
      at += length
    }
    const flat = head.depth + 1 >= this.#depthMax
    const delta: Delta = flat
      ? {
          recipe: rope.map((piece) => (piece.source === seq ? literal(piece.length) : piece)),
          literals,
        }
      : { base: head.seq, recipe: pieces, literals }
    if (match.copied >= head.body.length * 0.7) {
      this.#heads.splice(this.#heads.indexOf(head), 1)
    }
    this.#addHead({ seq, body: copy, sketch, rope, depth: flat ? 0 : head.depth + 1 })
    return delta
  }

  #addHead(head: Head): void {
    this.#heads.unshift(head)
    let bytes = 0
    const kept = this.#heads.findIndex(
      ({ body }, index) => index > 0 && (bytes += body.length) + head.body.length > this.#bytesMax,
    )
    this.#heads.length = Math.min(this.#heads.length, HEADS_MAX, kept < 0 ? HEADS_MAX : kept)
  }

  #bestMatch(body: Uint8Array, sketch: Head['sketch']): Match | undefined {
    const ends: Ends[] = []
    for (const head of this.#heads) {
      const prefix = commonPrefix(this.#equal, body, head.body)
      const most = Math.min(body.length, head.body.length) - prefix
      const suffix = commonSuffix(this.#equal, body, head.body, most)
      ends.push({ head, prefix, suffix })
      // The usual case: the last request and a new message.
      if (prefix + suffix === head.body.length && prefix + suffix >= body.length / 2) break
    }
    let best: Match | undefined
    for (const { head, prefix, suffix } of candidatesOf(body, sketch, ends)) {
      const match = this.#match(body, head, prefix, suffix)
      if (best === undefined || match.copied > best.copied) best = match
      if (best.copied > body.length * 0.8) break
    }
    return best
  }

  /** Equal ends, and those parts of the middle that occur in the head's middle. */
  #match(body: Uint8Array, head: Head, prefix: number, suffix: number): Match {
    const source = head.seq
    const targetTo = body.length - suffix
    const baseTo = head.body.length - suffix
    const pieces: Piece[] = []
    let copied = prefix + suffix
    let at = prefix
    if (prefix > 0) pieces.push({ source, offset: 0, length: prefix })
    const sizes = [targetTo - prefix, baseTo - prefix]
    if (sizes.every((size) => size > MATCH_MIN_BYTES && size <= MATCH_MAX_BYTES)) {
      const found = matchBlocks(this.#equal, {
        base: head.body,
        baseFrom: prefix,
        baseTo,
        target: body,
        targetFrom: prefix,
        targetTo,
      })
      for (const { baseOffset, targetOffset, length } of found) {
        if (targetOffset > at) pieces.push(literal(targetOffset - at))
        pieces.push({ source, offset: baseOffset, length })
        copied += length
        at = targetOffset + length
      }
    }
    if (targetTo > at) pieces.push(literal(targetTo - at))
    if (suffix > 0) pieces.push({ source, offset: baseTo, length: suffix })
    return { head, pieces, copied }
  }
}

/**
 * The heads worth a closer look. If no head shares half of the body at its ends, the ends say
 * little: sub-agents begin with the same prompt, and the rest may have moved. Then heads with the
 * most common text come first.
 */
function candidatesOf(
  body: Uint8Array,
  sketch: Head['sketch'],
  ends: readonly Ends[],
): readonly Ends[] {
  const [first] = ends
  if (first === undefined) return []
  let top = first
  for (const end of ends) if (end.prefix + end.suffix > top.prefix + top.suffix) top = end
  if (ends.length === 1 || top.prefix + top.suffix >= body.length * 0.5) return [top]
  const similar = ends
    .map((end) => {
      const theirs = end.head.sketch()
      // Number of common hashes: roughly, kilobytes of common text.
      let shared = 0
      for (const hash of sketch()) if (theirs.has(hash)) shared++
      return { end, shared }
    })
    .filter(({ shared }) => shared > 0)
    .toSorted((a, b) => b.shared - a.shared)
    .slice(0, CANDIDATES_MAX)
  return similar.length > 0 ? similar.map(({ end }) => end) : [top]
}

/** Rewrites a recipe over a base in terms of the base's own rope; literals become pieces of `seq`. */
function composeRope(seq: number, pieces: Recipe, baseRope: Recipe): Recipe {
  const rope: Piece[] = []
  const push = (source: number | undefined, offset: number, length: number): void => {
    const last = rope.at(-1)
    if (last !== undefined && last.source === source && last.offset + last.length === offset) {
      rope[rope.length - 1] = { ...last, length: last.length + length }
    } else if (source !== undefined) {
      rope.push({ source, offset, length })
    }
  }
  let at = 0
  // Copies mostly move forward through the base, so the search continues where it stopped.
  let index = 0
  let position = 0
  for (const { source, offset, length } of pieces) {
    if (source === undefined) {
      push(seq, at, length)
    } else {
      if (offset < position) index = position = 0
      for (; index < baseRope.length; index++) {
        const part = baseRope[index] ?? literal(0)
        const from = Math.max(offset, position)
        const to = Math.min(offset + length, position + part.length)
        if (from < to) push(part.source, part.offset + from - position, to - from)
        if (position + part.length > offset + length) break
        position += part.length
      }
    }
    at += length
  }
  return rope
}

type Equal = WriterPlatform['equal']

/** Number of equal bytes at the start of `a` and `b`. Compares large pieces first. */
function commonPrefix(equal: Equal, a: Uint8Array, b: Uint8Array): number {
  const max = Math.min(a.length, b.length)
  let same = 0
  for (const step of [1 << 16, 1 << 12, 1 << 8]) {
    while (same + step <= max && equal(a, same, b, same, step)) same += step
  }
  while (same < max && a[same] === b[same]) same++
  return same
}

/** Number of equal bytes at the end of `a` and `b`, at most `max`. */
function commonSuffix(equal: Equal, a: Uint8Array, b: Uint8Array, max: number): number {
  let same = 0
  const equalBefore = (step: number): boolean =>
    equal(a, a.length - same - step, b, b.length - same - step, step)
  for (const step of [1 << 16, 1 << 12, 1 << 8]) {
    while (same + step <= max && equalBefore(step)) same += step
  }
  while (same < max && a[a.length - 1 - same] === b[b.length - 1 - same]) same++
  return same
}
