import { findRanges, joinRanges, type Range } from './find-ranges.js'
import type { Pattern } from './patterns.js'

/** Shorter texts are looked through as they are. */
const LONG = 32 << 10
/** So much of what two texts have in common is looked at again: no match reaches further. */
const MARGIN = 16 << 10

/**
 * Finds ranges in texts that come one after the other. Every request of a conversation
 * repeats the one before it: what is the same is looked at once.
 */
export class RangeFinder {
  readonly #patterns: readonly Pattern[]
  #text = ''
  #ranges: readonly Range[] = []

  constructor(patterns: readonly Pattern[]) {
    this.#patterns = patterns
  }

  find(text: string): readonly Range[] {
    if (text.length < LONG) return findRanges(text, this.#patterns)
    const from = this.#knownUntil(text)
    const known = this.#ranges.filter(([, end]) => end <= from)
    const rest = findRanges(text.slice(from), this.#patterns)
    const found = rest.map(([start, end]): Range => [start + from, end + from])
    this.#text = text
    this.#ranges = joinRanges([...known, ...found])
    return this.#ranges
  }

  /** A place before which nothing has changed since the last text; it is not inside a range or an escape. */
  #knownUntil(text: string): number {
    const same = commonLength(this.#text, text) - MARGIN
    const quote = same <= 0 ? -1 : text.lastIndexOf('"', same)
    const across = this.#ranges.find(([start, end]) => start < quote && end > quote)
    return Math.max(0, across?.[0] ?? quote)
  }
}

function commonLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let length = 0
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length++
  return length
}
