import { findValues, type Pattern } from '@retake/engine/runs'

/** Shorter texts are scanned completely. */
const LONG = 32 << 10
/** Length of the common part of two texts that is scanned again: no match is longer. */
const MARGIN = 16 << 10

/**
 * Finds ranges in successive texts. Every request of a conversation repeats the previous one, so
 * equal parts are scanned only once.
 */
export class RangeFinder {
  #text = ''
  #ranges: readonly SecretRange[] = []

  constructor(private readonly patterns: readonly Pattern[]) {}

  find(text: string): readonly SecretRange[] {
    if (text.length < LONG) return findRanges(text, this.patterns)
    const from = this.#knownUntil(text)
    const known = this.#ranges.filter(([, end]) => end <= from)
    const rest = findRanges(text.slice(from), this.patterns)
    const found = rest.map(([start, end]): SecretRange => [start + from, end + from])
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

/** Characters of a text, the last not included. */
export type SecretRange = readonly [start: number, end: number]

/** The same as ranges, in order and without overlaps. */
export const findRanges = (text: string, patterns: readonly Pattern[]): SecretRange[] =>
  joinRanges(findValues(text, patterns).map(({ start, end }) => [start, end]))

/** In order, and without overlaps. */
export function joinRanges(ranges: SecretRange[]): SecretRange[] {
  if (ranges.length < 2) return ranges
  const result: [number, number][] = []
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else result.push([start, end])
  }
  return result
}
