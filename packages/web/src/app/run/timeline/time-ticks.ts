import type { TimeScale } from './time-scale.js'

export interface Tick {
  readonly time: number
  readonly drawn: number
  readonly text: string
}

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]
const STEPS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((value) => value * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((value) => value * MINUTE),
  ...[1, 2, 6, 12].map((value) => value * HOUR),
  ...[1, 2, 7, 30].map((value) => value * DAY),
]

export interface TickOptions {
  /** The part of the scale that is seen, in drawn milliseconds. */
  readonly from: number
  readonly to: number
  readonly pixelsPerMs: number
  /** Pixels that two of them are apart at least. */
  readonly apart: number
}

/** Round times to write on the axis. None stands inside of a gap, where time is drawn otherwise. */
export function ticksOf(scale: TimeScale, options: TickOptions): Tick[] {
  const { from, to, pixelsPerMs, apart } = options
  const step = STEPS.find((each) => each * pixelsPerMs >= apart) ?? 30 * DAY
  const ticks: Tick[] = []
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

/** A time in as many digits as tell two ticks apart. */
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
