/** A stretch of time in which nothing was under way, drawn shorter than it was. */
export interface Gap {
  /** Milliseconds since the start. */
  readonly from: number
  readonly to: number
  /** Where it is drawn, and how long, in drawn milliseconds. */
  readonly drawnFrom: number
  readonly drawnTo: number
}

/** Times of a span, in milliseconds. */
export type Span = readonly [from: number, to: number]

/** Gaps shorter than this are never worth a mark. */
const LEAST_GAP_MS = 20

/**
 * Where a moment of a run is drawn. Long gaps in which nothing was under way are
 * drawn short; everything else keeps its proportions. Drawn time is in milliseconds,
 * too, and a later moment is always drawn later.
 */
export class TimeScale {
  /** Length of the whole, in drawn milliseconds. */
  readonly length: number
  readonly gaps: readonly Gap[]
  /** Last moment, in milliseconds since the start. */
  readonly end: number

  private constructor(end: number, gaps: readonly Gap[]) {
    this.end = end
    this.gaps = gaps
    this.length = this.toDrawn(end)
  }

  /** `busy`: spans in which something was under way, in order and apart from each other. */
  static over(busy: readonly Span[], end: number): TimeScale {
    const last = Math.max(end, busy.at(-1)?.[1] ?? 0, 1)
    const work = sumOf(busy)
    const threshold = thresholdOf(work, busy.length)
    const long = longGaps(busy, last, threshold)
    const drawnLength = Math.min(threshold, work / (2 * Math.max(1, long.length)))
    let saved = 0
    const gaps = long.map(([from, to]): Gap => {
      const drawnFrom = from - saved
      saved += to - from - drawnLength
      return { from, to, drawnFrom, drawnTo: drawnFrom + drawnLength }
    })
    return new TimeScale(last, gaps)
  }

  /** Where a time is drawn. */
  toDrawn(time: number): number {
    const gap = this.#lastGap((each) => each.from <= time)
    if (gap === undefined) return time
    if (time >= gap.to) return gap.drawnTo + (time - gap.to)
    const part = (time - gap.from) / (gap.to - gap.from)
    return gap.drawnFrom + part * (gap.drawnTo - gap.drawnFrom)
  }

  /** The time that is drawn somewhere. */
  toTime(drawn: number): number {
    const gap = this.#lastGap((each) => each.drawnFrom <= drawn)
    if (gap === undefined) return drawn
    if (drawn >= gap.drawnTo) return gap.to + (drawn - gap.drawnTo)
    const part = (drawn - gap.drawnFrom) / (gap.drawnTo - gap.drawnFrom)
    return gap.from + part * (gap.to - gap.from)
  }

  #lastGap(isBefore: (gap: Gap) => boolean): Gap | undefined {
    let [low, high] = [0, this.gaps.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (isBefore(this.gaps[middle] as Gap)) low = middle + 1
      else high = middle
    }
    return this.gaps[low - 1]
  }
}

/**
 * How long a gap is kept as it is: as long as it is small beside all work, and beside
 * one stretch of work, so that many long pauses do not push the work together.
 */
const thresholdOf = (work: number, stretches: number): number =>
  Math.max(LEAST_GAP_MS, Math.min(work / 16, (3 * work) / Math.max(1, stretches)))

/** A stretch of no length counts as a little, or a run of moments had no work at all. */
const sumOf = (busy: readonly Span[]): number =>
  Math.max(
    1,
    busy.reduce((sum, [from, to]) => sum + Math.max(1, to - from), 0),
  )

function longGaps(busy: readonly Span[], end: number, threshold: number): Span[] {
  const gaps: Span[] = []
  let last = 0
  for (const [from, to] of busy) {
    if (from - last > threshold) gaps.push([last, from])
    last = to
  }
  if (end - last > threshold) gaps.push([last, end])
  return gaps
}

/** Spans put together where they touch, in order. */
export function mergeSpans(starts: Float64Array, ends: Float64Array, count: number): Span[] {
  const order = inOrder(starts, count)
  const merged: Span[] = []
  let [from, to] = [0, -1]
  for (let index = 0; index < count; index++) {
    const place = order === undefined ? index : (order[index] ?? 0)
    const start = Math.max(0, starts[place] ?? 0)
    const end = Math.max(start, ends[place] ?? 0)
    if (start <= to) {
      if (end > to) to = end
      continue
    }
    if (to >= 0) merged.push([from, to])
    from = start
    to = end
  }
  if (to >= 0) merged.push([from, to])
  return merged
}

/** Places by start; undefined when they are in order already, as they nearly always are. */
function inOrder(starts: Float64Array, count: number): Uint32Array | undefined {
  let isSorted = true
  for (let index = 1; index < count && isSorted; index++)
    isSorted = (starts[index] ?? 0) >= (starts[index - 1] ?? 0)
  if (isSorted) return undefined
  return Uint32Array.from({ length: count }, (_, index) => index).toSorted(
    (left, right) => (starts[left] ?? 0) - (starts[right] ?? 0),
  )
}
