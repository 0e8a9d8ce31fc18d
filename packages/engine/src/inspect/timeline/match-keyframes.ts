import type { FrameworkScope } from './plan-keyframes.js'

/** What to do so that processes stand where they should. */
export interface Matched<R> {
  /** Most useful first. Without a `runner` a new process is needed. */
  readonly moves: readonly { readonly runner?: R; readonly to: number }[]
  /** Not needed for any place. */
  readonly spare: readonly R[]
}

/**
 * Gives each place a process: one that stands there, else the nearest spare one
 * before it, else a new one. `indexOf` says which moment a process stands before.
 */
export function matchKeyframes<R>(
  spans: readonly FrameworkScope[],
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
