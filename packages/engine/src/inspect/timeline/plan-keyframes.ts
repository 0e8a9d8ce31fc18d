/** A moment at which a process should be parked; any moment from `first` to `last` is acceptable. */
export interface KeyframeSpan {
  readonly first: number
  /** The best moment, at which a new process is parked. */
  readonly last: number
}

export interface KeyframePlanInput {
  /** Milliseconds of replay until each moment is reached; undefined until measured. */
  readonly costs: readonly number[] | undefined
  /** Number of moments that can be reached. */
  readonly count: number
  /** Position of the user; -1 before the first moment. */
  readonly current: number
  readonly limit: number
}

/** Three of eight processes stay close behind the user. */
const NEAR_SHARE = 3 / 8

/**
 * Where to park processes, most useful first. Most are spaced evenly over the run, by replay time
 * instead of number of steps; the others are 1, 3, 9, … moments behind the user, for going back.
 * The even positions do not move with the user, so that a parked process stays useful.
 */
export function planKeyframes({ costs, count, current, limit }: KeyframePlanInput): KeyframeSpan[] {
  const nearCount = Math.floor(limit * NEAR_SHARE)
  const near = Array.from({ length: nearCount }, (_, order): KeyframeSpan => {
    const distance = 3 ** order
    const last = Math.min(current, count) - distance
    return { first: Math.max(0, distance === 1 ? last : last - distance), last }
  }).filter(({ last }) => last >= 0)
  const even = costs === undefined ? [] : evenSpans(costs.slice(0, count), limit - nearCount)
  // The one right behind the user comes first, those farther away last.
  return [...near.slice(0, 1), ...even, ...near.slice(1)]
}

/** The first moment, when all modules are loaded, and equal intervals of time from there on. */
function evenSpans(costs: readonly number[], wanted: number): KeyframeSpan[] {
  const [start, end] = [costs[0], costs.at(-1)]
  if (start === undefined || end === undefined) return []
  const spacing = (end - start) / wanted
  const spans: KeyframeSpan[] = []
  for (let order = 0; order < wanted; order++) {
    const [latestMs, earliestMs] = [start + order * spacing, start + (order - 1 / 4) * spacing]
    const last = Math.max(
      0,
      costs.findLastIndex((cost) => cost <= latestMs),
    )
    const first = Math.max(
      0,
      costs.findIndex((cost) => cost >= earliestMs),
    )
    if (last !== spans.at(-1)?.last) spans.push({ first: Math.min(first, last), last })
  }
  return spans
}

/** Moves that bring processes to their positions. */
export interface Matched<R> {
  /** Most useful first. If `runner` is missing, a new process is needed. */
  readonly moves: readonly { readonly runner?: R; readonly to: number }[]
  /** Not needed for any position. */
  readonly spare: readonly R[]
}

/**
 * Assigns a process to each position: one that is already there, otherwise the nearest spare one
 * before it, otherwise a new one. `indexOf` returns the moment before which a process is paused.
 */
export function matchKeyframes<R>(
  spans: readonly KeyframeSpan[],
  parked: readonly R[],
  indexOf: (runner: R) => number,
): Matched<R> {
  const spare = new Set(parked)
  const nearest = (fits: (index: number) => boolean): R | undefined => {
    const found = [...spare].filter((runner) => fits(indexOf(runner)))
    const [best] = found.toSorted((a, b) => indexOf(b) - indexOf(a))
    if (best !== undefined) spare.delete(best)
    return best
  }
  const empty = spans.filter(
    ({ first, last }) => nearest((index) => index >= first && index <= last) === undefined,
  )
  const moves = empty.map(({ last: to }) => {
    const runner = nearest((index) => index <= to)
    return runner === undefined ? { to } : { runner, to }
  })
  return { moves, spare: [...spare] }
}
