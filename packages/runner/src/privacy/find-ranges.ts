import { findValues, type Pattern } from '@retake/engine/runs'

/** Shorter texts are always scanned completely. */
const RESCAN_MIN = 32 << 10
/** Length at the end of the common part that is scanned again. No match is longer. */
const MARGIN = 16 << 10

/**
 * Finds ranges in successive texts. Scans equal parts only once, because every request of a
 * conversation repeats the previous one.
 */
export class RangeFinder {
  #text = ''
  #ranges: readonly SecretRange[] = []

  constructor(private readonly patterns: readonly Pattern[]) {}

  find(text: string): readonly SecretRange[] {
    if (text.length < RESCAN_MIN) return findRanges(text, this.patterns)
    // An offset before which nothing changed since the last text, outside of any range or escape.
    const most = Math.min(this.#text.length, text.length)
    let common = 0
    while (common < most && this.#text.charCodeAt(common) === text.charCodeAt(common)) common++
    const same = common - MARGIN
    const quote = same <= 0 ? -1 : text.lastIndexOf('"', same)
    const across = this.#ranges.find(([start, end]) => start < quote && end > quote)
    const from = Math.max(0, across?.[0] ?? quote)
    const known = this.#ranges.filter(([, end]) => end <= from)
    const rest = findRanges(text.slice(from), this.patterns)
    const found = rest.map(([start, end]): SecretRange => [start + from, end + from])
    this.#text = text
    this.#ranges = joinRanges([...known, ...found])
    return this.#ranges
  }
}

/** Characters of a text; the end is exclusive. */
export type SecretRange = readonly [start: number, end: number]

/** Ranges of all matches, sorted and without overlaps. */
export const findRanges = (text: string, patterns: readonly Pattern[]): SecretRange[] =>
  joinRanges(findValues(text, patterns).map(({ start, end }) => [start, end]))

/** Sorts ranges and merges overlaps. */
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
