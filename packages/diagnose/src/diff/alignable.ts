import { hashText } from '../hash.js'

/** Something with a place in a sequence, as `align` sees it. */
export interface Alignable {
  /** Equal for things that are the same in every respect that is compared. */
  readonly digest: number
  /** Only things of one family can be two versions of the same thing. */
  readonly family: string
  /** Hashes of its words, ascending; see `sketchOf`. */
  readonly sketch: () => Int32Array
}

/** How many words of a text count. */
const SKETCH_SIZE = 64

/**
 * A bounded set of words that stands for a text: the words with the smallest
 * hashes. Two texts share words in their sketches as often as they do in full.
 */
export const sketchOf = (text: string): Int32Array => {
  const words = new Set<number>()
  for (const [word] of text.matchAll(/[\p{L}\p{N}]+/gu)) words.add(hashText(word) | 0)
  const sorted = Int32Array.from(words).toSorted()
  return sorted.length > SKETCH_SIZE ? sorted.slice(0, SKETCH_SIZE) : sorted
}

/** A sketch that is made when first asked for. */
export const lazySketch = (read: () => string): (() => Int32Array) => {
  let sketch: Int32Array | undefined
  return () => (sketch ??= sketchOf(read()))
}

/** Share of words that two things have in common, from 0 to 1. */
export const similarity = (a: Alignable, b: Alignable): number => {
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
