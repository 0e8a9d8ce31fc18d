import type { Pattern } from './patterns.js'
import { decodedViews } from './decoded-views.js'

/** Characters of a text, the last not included. */
export type Range = readonly [start: number, end: number]

/** Values are escaped in JSON, and JSON in JSON again. */
const DEPTH_MAX = 4

/**
 * Where a text holds something that matches, in order and without overlaps: as it
 * stands there, or escaped as in JSON, in JSON inside JSON, or as in a URL.
 */
export function findRanges(text: string, patterns: readonly Pattern[], depth = 0): Range[] {
  const ranges: Range[] = []
  for (const { expression, accepts } of patterns) {
    for (const { 0: found, index } of text.matchAll(expression))
      if (found !== '' && (accepts?.(found) ?? true)) ranges.push([index, index + found.length])
  }
  if (depth < DEPTH_MAX) {
    for (const { text: decoded, offsets } of decodedViews(text)) {
      for (const [start, end] of findRanges(decoded, patterns, depth + 1))
        ranges.push([offsets[start] ?? 0, endOf(offsets, end)])
    }
  }
  return joinRanges(ranges)
}

/** Where the escape ends that holds the last character before `end`. */
function endOf(offsets: Uint32Array, end: number): number {
  let next = end
  while (next < offsets.length - 1 && offsets[next] === offsets[end - 1]) next++
  return offsets[next] ?? 0
}

/** In order, and without overlaps. */
export function joinRanges(ranges: Range[]): Range[] {
  if (ranges.length < 2) return ranges
  const result: [number, number][] = []
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else result.push([start, end])
  }
  return result
}
