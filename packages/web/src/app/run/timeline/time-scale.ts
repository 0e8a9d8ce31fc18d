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

/** Many spans, flat: beginning and end of the first, of the second, and so on. */
export type Spans = Float64Array

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

  /** `busy`: where something was under way, in order and apart from each other. */
  static over(busy: Spans, end: number): TimeScale {
    const last = Math.max(end, busy[busy.length - 1] ?? 0, 1)
    const work = sumOf(busy)
    const threshold = thresholdOf(work, busy.length / 2)
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

  /** The same as `toDrawn` for many times at once, fastest where one follows the other. */
  drawAll(times: Float64Array, into: Float64Array, count: number): void {
    let next = 0
    for (let place = 0; place < count; place++) {
      const time = times[place] ?? 0
      while (next < this.gaps.length && (this.gaps[next] as Gap).from <= time) next++
      while (next > 0 && (this.gaps[next - 1] as Gap).from > time) next--
      into[place] = drawnIn(this.gaps[next - 1], time)
    }
  }

  /** Where a time is drawn. */
  toDrawn(time: number): number {
    return drawnIn(
      this.#lastGap((each) => each.from <= time),
      time,
    )
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

/** Where a time is drawn, given the last gap that begins before it. */
function drawnIn(gap: Gap | undefined, time: number): number {
  if (gap === undefined) return time
  if (time >= gap.to) return gap.drawnTo + (time - gap.to)
  const part = (time - gap.from) / (gap.to - gap.from)
  return gap.drawnFrom + part * (gap.drawnTo - gap.drawnFrom)
}

/** A stretch of no length counts as a little, or a run of moments had no work at all. */
function sumOf(busy: Spans): number {
  let sum = 0
  for (let at = 0; at < busy.length; at += 2)
    sum += Math.max(1, (busy[at + 1] ?? 0) - (busy[at] ?? 0))
  return Math.max(1, sum)
}

function longGaps(busy: Spans, end: number, threshold: number): Span[] {
  const gaps: Span[] = []
  let last = 0
  for (let at = 0; at < busy.length; at += 2) {
    const from = busy[at] ?? 0
    if (from - last > threshold) gaps.push([last, from])
    last = busy[at + 1] ?? 0
  }
  if (end - last > threshold) gaps.push([last, end])
  return gaps
}

/** Spans put together where they touch, in order. */
export function mergeSpans(starts: Float64Array, ends: Float64Array, count: number): Spans {
  const order = inOrder(starts, count)
  const merged = new Float64Array(count * 2)
  let size = 0
  for (let index = 0; index < count; index++) {
    const place = order === undefined ? index : (order[index] ?? 0)
    const start = Math.max(0, starts[place] ?? 0)
    const end = Math.max(start, ends[place] ?? 0)
    if (size > 0 && start <= (merged[size - 1] ?? 0)) {
      if (end > (merged[size - 1] ?? 0)) merged[size - 1] = end
      continue
    }
    merged[size] = start
    merged[size + 1] = end
    size += 2
  }
  return merged.subarray(0, size)
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
