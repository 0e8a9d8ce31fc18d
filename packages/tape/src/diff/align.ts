import { defined } from '../format/values/json-shape.js'
import { hashText } from '../format/values/hash-text.js'
import type { StepProfile } from './step-content.js'

/** An item of a sequence, as `align` sees it. */
export interface Alignable {
  /** Equal for items that are equal in every compared respect. */
  readonly digest: number
  /** Only items of the same family can be two versions of one thing. */
  readonly family: string
  /** Hashes of its words, ascending; see `sketchOf`. */
  readonly sketch: () => Int32Array
}

const SKETCH_SIZE = 64

/**
 * A bounded set of words that represents a text: those with the smallest hashes (MinHash). Two
 * sketches overlap about as much as the full texts.
 */
export const sketchOf = (text: string): Int32Array => {
  const words = new Set<number>()
  for (const [word] of text.matchAll(/[\p{L}\p{N}]+/gu)) words.add(hashText(word) | 0)
  const sorted = Int32Array.from(words).toSorted()
  return sorted.length > SKETCH_SIZE ? sorted.slice(0, SKETCH_SIZE) : sorted
}

/** A sketch that is computed on first use. */
export const lazySketch = (read: () => string): (() => Int32Array) => {
  let sketch: Int32Array | undefined
  return () => (sketch ??= sketchOf(read()))
}

/** Share of words that two items have in common (0 to 1). */
const similarity = (a: Alignable, b: Alignable): number => {
  const [left, right] = [a.sketch(), b.sketch()]
  if (left.length === 0 && right.length === 0) return 1
  let shared = 0
  for (let i = 0, j = 0; i < left.length && j < right.length;) {
    const [one, other] = [left[i] as number, right[j] as number]
    if (one === other) shared++
    if (one <= other) i++
    if (other <= one) j++
  }
  return shared / (left.length + right.length - shared)
}

interface StepPair extends Pair {
  /** True if the two are in a different order among their neighbours. */
  readonly moved?: boolean
}

/** Steps less similar than this are not the same step at another position. */
const MIN_SIMILARITY = 0.6
/** With more unmatched steps than this, only identical steps count as moved. */
const MAX_COMPARED = 300

/** Aligns the steps of two runs. Similar steps left over on both sides count as moved. */
export const pairSteps = (a: readonly StepProfile[], b: readonly StepProfile[]): StepPair[] => {
  const pairs = align(a, b)
  const onlyA = pairs.filter((pair) => pair.b === undefined).map((pair) => pair.a as number)
  const onlyB = pairs.filter((pair) => pair.a === undefined).map((pair) => pair.b as number)
  const isCompared = onlyA.length * onlyB.length <= MAX_COMPARED * MAX_COMPARED
  const moved = findMoved(onlyA, onlyB, (i, j) => {
    const [left, right] = [a[i], b[j]]
    if (left === undefined || right === undefined || left.family !== right.family) return 0
    if (left.digest === right.digest) return 2
    return isCompared ? similarity(left, right) : 0
  })
  if (moved.size === 0) return pairs
  const taken = new Set(moved.values())
  return pairs
    .filter((pair) => pair.a !== undefined || !taken.has(pair.b as number))
    .map((pair) => {
      const other = pair.b === undefined ? moved.get(pair.a as number) : undefined
      return other === undefined ? pair : { a: pair.a as number, b: other, moved: true }
    })
}

/** Best matches first; among equal matches, those that moved least. */
const findMoved = (
  onlyA: readonly number[],
  onlyB: readonly number[],
  likenessOf: (a: number, b: number) => number,
): Map<number, number> => {
  const candidates = onlyA
    .flatMap((a) => onlyB.map((b) => ({ a, b, like: likenessOf(a, b) })))
    .filter(({ like }) => like >= MIN_SIMILARITY)
    .toSorted(
      (one, other) =>
        other.like - one.like ||
        Math.abs(one.a - one.b) - Math.abs(other.a - other.b) ||
        Math.min(one.a, one.b) - Math.min(other.a, other.b),
    )
  const moved = new Map<number, number>()
  const taken = new Set<number>()
  for (const { a, b } of candidates) {
    if (moved.has(a) || taken.has(b)) continue
    moved.set(a, b)
    taken.add(b)
  }
  return moved
}

/** Indexes of two matching items; one is missing if the item was added or removed. */
export interface Pair {
  readonly a?: number
  readonly b?: number
}

/** Maximum number of table cells; beyond it, only positions near the diagonal are compared. */
const MAX_CELLS = 6_000_000

/**
 * Pairs the items of two sequences at the lowest cost: equal items cost nothing, two versions of
 * one item cost more the less they have in common, and unpaired items cost most.
 *
 * Swapping the sequences swaps the sides of every pair and changes nothing else. Not promised for
 * sequences whose differing parts make more than six million pairs: there, items are only compared
 * near their own position.
 */
export const align = (a: readonly Alignable[], b: readonly Alignable[]): Pair[] => {
  // A total order of sequences, so that ties are always broken in the same way.
  const index = a.findIndex(({ digest }, position) => digest !== b[position]?.digest)
  const isBefore = index < 0 || (a[index]?.digest ?? 0) < (b[index]?.digest ?? 0)
  return (a.length === b.length ? isBefore : a.length < b.length)
    ? alignInOrder(a, b)
    : alignInOrder(b, a).map((pair) => defined({ a: pair.b, b: pair.a }))
}

const alignInOrder = (a: readonly Alignable[], b: readonly Alignable[]): Pair[] => {
  const most = Math.min(a.length, b.length)
  let start = 0
  while (start < most && a[start]?.digest === b[start]?.digest) start++
  let end = 0
  while (end < most - start && a.at(-1 - end)?.digest === b.at(-1 - end)?.digest) end++
  const moved = (at: number | undefined) => (at === undefined ? undefined : at + start)
  const middle = alignMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end)).map(
    (pair) => defined({ a: moved(pair.a), b: moved(pair.b) }),
  )
  const before = Array.from({ length: start }, (_, position) => ({ a: position, b: position }))
  const after = Array.from({ length: end }, (_, position) => ({
    a: a.length - end + position,
    b: b.length - end + position,
  }))
  return [...before, ...middle, ...after]
}

const GAP = 1

/** Always less than leaving both unpaired, so that items are paired if nothing fits better. */
const costOf = (a: Alignable, b: Alignable): number => {
  if (a.digest === b.digest) return 0
  return a.family === b.family ? 0.25 + 1.7 * (1 - similarity(a, b)) : Infinity
}

const PAIR = 1
const ONLY_A = 2
const ONLY_B = 3

/** Works backwards, so that the earliest of equally good positions is chosen. */
const alignMiddle = (a: readonly Alignable[], b: readonly Alignable[]): Pair[] => {
  if (a.length === 0 || b.length === 0) {
    return [
      ...a.map((_, position) => ({ a: position })),
      ...b.map((_, position) => ({ b: position })),
    ]
  }
  // Reads the cheapest path off the table. The table was built from reversed sequences, so the path
  // starts at their beginning.
  const { from, moves } = fillTable(a.toReversed(), b.toReversed())
  const pairs: Pair[] = []
  let [row, column] = [a.length, b.length]
  while (row > 0 || column > 0) {
    const move = moves[row]?.[column - from(row)]
    const here = { a: a.length - row, b: b.length - column }
    if (move === PAIR) pairs.push(here)
    else if (move === ONLY_A) pairs.push({ a: here.a })
    else pairs.push({ b: here.b })
    if (move !== ONLY_B) row--
    if (move !== ONLY_A) column--
  }
  return pairs
}

interface Table {
  /** First column of a row, and its moves. */
  readonly from: (row: number) => number
  readonly moves: readonly Uint8Array[]
}

const fillTable = (a: readonly Alignable[], b: readonly Alignable[]): Table => {
  const reach = Math.max(8, Math.floor(MAX_CELLS / (a.length + 1) / 2))
  const middle = (row: number): number => Math.round((row * b.length) / a.length)
  const from = (row: number): number => Math.max(0, middle(row) - reach)
  const to = (row: number): number => Math.min(b.length, middle(row) + reach)
  const moves: Uint8Array[] = []
  let above = new Float64Array()
  for (let row = 0; row <= a.length; row++) {
    const first = from(row)
    const costs = new Float64Array(to(row) - first + 1).fill(Infinity)
    const taken = new Uint8Array(costs.length)
    const shift = row === 0 ? 0 : first - from(row - 1)
    for (let cell = 0; cell < costs.length; cell++) {
      const column = first + cell
      let best = row === 0 && column === 0 ? 0 : Infinity
      let move = 0
      if (row > 0 && column > 0) {
        const before = above[cell + shift - 1] ?? Infinity
        if (before < Infinity) {
          best = before + costOf(a[row - 1] as Alignable, b[column - 1] as Alignable)
          move = PAIR
        }
      }
      const skipA = row > 0 ? (above[cell + shift] ?? Infinity) + GAP : Infinity
      if (skipA < best) [best, move] = [skipA, ONLY_A]
      const skipB = cell > 0 ? (costs[cell - 1] ?? Infinity) + GAP : Infinity
      if (skipB < best) [best, move] = [skipB, ONLY_B]
      costs[cell] = best
      taken[cell] = move
    }
    above = costs
    moves.push(taken)
  }
  return { from, moves }
}
