/** Between which bounds a probability is taken to be. */
export interface Interval {
  readonly low: number
  readonly high: number
}

/** Nothing is known. */
export const UNKNOWN: Interval = { low: 0, high: 1 }

/** Where an expression that rises from below zero to above it crosses zero. */
export function crossing(rises: (at: number) => number, from: number, to: number): number {
  let below = from
  let above = to
  for (let halving = 0; halving < 60 && above - below > 1e-12; halving++) {
    const middle = (below + above) / 2
    if (rises(middle) < 0) below = middle
    else above = middle
  }
  return (below + above) / 2
}
