import { lowerBound } from '../data/row-store.js'

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]
const STEPS = [
  [1, 2, 5, 10, 20, 50, 100, 200, 500],
  [1, 2, 5, 10, 15, 30].map((value) => value * SECOND),
  [1, 2, 5, 10, 15, 30].map((value) => value * MINUTE),
  [1, 2, 6, 12].map((value) => value * HOUR),
  [1, 2, 7, 30].map((value) => value * DAY),
].flat()

interface TickOptions {
  /** Visible part of the scale, in drawn milliseconds. */
  readonly from: number
  readonly to: number
  readonly pixelsPerMs: number
  readonly apart: number
}

/** Round times for the axis, none inside a gap, where time is compressed. */
export function ticksOf(scale: TimeScale, options: TickOptions) {
  const { from, to, pixelsPerMs, apart } = options
  const step = STEPS.find((each) => each * pixelsPerMs >= apart) ?? 30 * DAY
  const ticks: { time: number; drawn: number; text: string }[] = []
  const least = (apart * 0.9) / pixelsPerMs
  const add = (start: number, end: number): void => {
    for (let time = Math.ceil(start / step) * step; time <= end; time += step) {
      const drawn = scale.toDrawn(time)
      if (drawn < from - least) continue
      if (drawn > to) return
      if (ticks.length > 0 && drawn - (ticks.at(-1)?.drawn ?? 0) < least) continue
      ticks.push({ time, drawn, text: tickText(time, step) })
    }
  }
  const [first, last] = [scale.toTime(Math.max(0, from)), scale.toTime(to)]
  let start = first
  for (const gap of scale.gaps) {
    if (gap.to <= first) continue
    if (gap.from >= last) break
    if (gap.from > start) add(start, gap.from)
    start = Math.max(start, gap.to)
  }
  if (start < last) add(start, last)
  return ticks
}

/** Uses enough digits to distinguish two ticks. */
export function tickText(time: number, step: number): string {
  if (time === 0) return '0'
  if (time < SECOND && step < SECOND) return `${Math.round(time)} ms`
  if (time < MINUTE) {
    const digits = step >= SECOND ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3
    return `${(time / SECOND).toFixed(digits)} s`
  }
  const two = (value: number): string => String(value).padStart(2, '0')
  if (step >= DAY && time % DAY === 0) return `${time / DAY} d`
  const [minutes, hours] = [Math.floor(time / MINUTE), Math.floor(time / HOUR)]
  const seconds = (time % MINUTE) / SECOND
  const rest =
    step >= SECOND
      ? two(Math.round(seconds))
      : seconds.toFixed(step >= 100 ? 1 : 3).padStart(4, '0')
  if (step >= MINUTE) return hours > 0 ? `${hours} h ${two(minutes % 60)}` : `${minutes} min`
  return hours > 0 ? `${hours}:${two(minutes % 60)}:${rest}` : `${minutes}:${rest}`
}

/** Idle time, which is drawn compressed. */
interface Gap {
  /** Milliseconds since the start. */
  readonly from: number
  readonly to: number
  readonly drawnFrom: number
  readonly drawnTo: number
}

export type TimeSpan = readonly [from: number, to: number]

/** Flat list: start and end of the first span, of the second, and so on. */
export type Spans = Float64Array

const GAP_MIN_MS = 20

/**
 * Maps run time to drawn time. Compresses long gaps in which nothing was active; everything else is
 * proportional. Drawn time is monotonic, and also in milliseconds.
 */
export class TimeScale {
  readonly length: number
  readonly gaps: readonly Gap[]
  readonly end: number

  private constructor(end: number, gaps: readonly Gap[]) {
    this.end = end
    this.gaps = gaps
    this.length = this.toDrawn(end)
  }

  /** `busy` are the active spans, sorted and disjoint. */
  static over(busy: Spans, end: number): TimeScale {
    const last = Math.max(end, busy[busy.length - 1] ?? 0, 1)
    // A span of length 0 counts a little, so that the sum is never 0.
    let sum = 0
    for (let at = 0; at < busy.length; at += 2)
      sum += Math.max(1, (busy[at + 1] ?? 0) - (busy[at] ?? 0))
    const work = Math.max(1, sum)
    // Gaps up to this length are not compressed. Depends on the total work and on the average
    // stretch of work, so that many long pauses do not squeeze the work.
    const threshold = Math.max(
      GAP_MIN_MS,
      Math.min(work / 16, (3 * work) / Math.max(1, busy.length / 2)),
    )
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

  /** `toDrawn` for many times, fastest if they are in order. */
  drawAll(times: Float64Array, into: Float64Array, count: number): void {
    let next = 0
    for (let index = 0; index < count; index++) {
      const time = times[index] ?? 0
      while (next < this.gaps.length && (this.gaps[next] as Gap).from <= time) next++
      while (next > 0 && (this.gaps[next - 1] as Gap).from > time) next--
      into[index] = drawnIn(this.gaps[next - 1], time)
    }
  }

  toDrawn(time: number): number {
    return drawnIn(
      this.#lastGap((each) => each.from <= time),
      time,
    )
  }

  toTime(drawn: number): number {
    const gap = this.#lastGap((each) => each.drawnFrom <= drawn)
    if (gap === undefined) return drawn
    if (drawn >= gap.drawnTo) return gap.to + (drawn - gap.drawnTo)
    const part = (drawn - gap.drawnFrom) / (gap.drawnTo - gap.drawnFrom)
    return gap.from + part * (gap.to - gap.from)
  }

  #lastGap(isBefore: (gap: Gap) => boolean): Gap | undefined {
    return this.gaps[lowerBound(this.gaps.length, (at) => isBefore(this.gaps[at] as Gap)) - 1]
  }
}

function drawnIn(gap: Gap | undefined, time: number): number {
  if (gap === undefined) return time
  if (time >= gap.to) return gap.drawnTo + (time - gap.to)
  const part = (time - gap.from) / (gap.to - gap.from)
  return gap.drawnFrom + part * (gap.drawnTo - gap.drawnFrom)
}

function longGaps(busy: Spans, end: number, threshold: number): TimeSpan[] {
  const gaps: TimeSpan[] = []
  let last = 0
  for (let at = 0; at < busy.length; at += 2) {
    const from = busy[at] ?? 0
    if (from - last > threshold) gaps.push([last, from])
    last = busy[at + 1] ?? 0
  }
  if (end - last > threshold) gaps.push([last, end])
  return gaps
}

export function mergeSpans(starts: Float64Array, ends: Float64Array, count: number): Spans {
  // Indexes sorted by start; undefined if already sorted, as is nearly always the case.
  let isSorted = true
  for (let index = 1; index < count && isSorted; index++)
    isSorted = (starts[index] ?? 0) >= (starts[index - 1] ?? 0)
  const order = isSorted
    ? undefined
    : Uint32Array.from({ length: count }, (_, index) => index).toSorted(
        (left, right) => (starts[left] ?? 0) - (starts[right] ?? 0),
      )
  const merged = new Float64Array(count * 2)
  let size = 0
  for (let index = 0; index < count; index++) {
    const position = order === undefined ? index : (order[index] ?? 0)
    const start = Math.max(0, starts[position] ?? 0)
    const end = Math.max(start, ends[position] ?? 0)
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

export interface TimelineView {
  readonly from: number
  readonly span: number
}

/** A function, so that several changes between renders add up. */
export type ViewChange = (view: TimelineView) => TimelineView

/** The part that the user chose. It stays the same when new rows change the scale. */
export interface TimelineLook {
  readonly view: TimelineView
  readonly scale: TimeScale
  /** Zoom factor relative to the whole. */
  readonly closeness: number
}

const LEAST_SPAN = 0.5

export const wholeView = (length: number): TimelineView => ({ from: 0, span: length * 1.01 })

export function clampView(view: TimelineView, length: number): TimelineView {
  const whole = wholeView(length)
  const span = Math.min(whole.span, Math.max(LEAST_SPAN, view.span))
  return { span, from: Math.min(whole.span - span, Math.max(0, view.from)) }
}

export const zoomAt = (
  view: TimelineView,
  factor: number,
  { at, length }: { readonly at: number; readonly length: number },
): TimelineView => {
  const span = Math.min(wholeView(length).span, Math.max(LEAST_SPAN, view.span / factor))
  return clampView({ span, from: at - ((at - view.from) * span) / view.span }, length)
}

export const panBy = (view: TimelineView, part: number, length: number): TimelineView =>
  clampView({ ...view, from: view.from + part * view.span }, length)

/** Moves the view only if the drawn time is not visible. */
export function bringIntoView(view: TimelineView, at: number, length: number): TimelineView {
  const margin = view.span * 0.05
  if (at >= view.from + margin * 0.2 && at <= view.from + view.span - margin * 0.2) return view
  const from = at < view.from ? at - margin : at - view.span + margin * 4
  return clampView({ ...view, from }, length)
}

/** The view on a newer scale: the same times, or everything. */
export function viewOn(scale: TimeScale, look: TimelineLook | undefined): TimelineView {
  if (look === undefined) return wholeView(scale.length)
  if (look.scale === scale) return clampView(look.view, scale.length)
  const { from, span } = look.view
  const drawn = (before: number): number => scale.toDrawn(look.scale.toTime(before))
  return clampView({ from: drawn(from), span: drawn(from + span) - drawn(from) }, scale.length)
}

/**
 * Undefined means the whole timeline. Zooming out as far as the user zoomed in shows everything again,
 * even if the timeline has grown.
 */
export function lookAfterChange(
  scale: TimeScale,
  look: TimelineLook | undefined,
  change: ViewChange,
): TimelineLook | undefined {
  const before = viewOn(scale, look)
  const view = change(before)
  if (view === before) return look
  const closeness = ((look?.closeness ?? 1) * before.span) / view.span
  const isWhole = closeness < 1.001 || view.span > wholeView(scale.length).span * 0.999
  return isWhole ? undefined : { view, scale, closeness }
}
