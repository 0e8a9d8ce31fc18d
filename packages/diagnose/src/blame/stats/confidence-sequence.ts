import { crossing, UNKNOWN, type Interval } from './interval.js'
import { logBeta } from './log-gamma.js'

/**
 * Bounds of a probability that may be looked at after every fork: with 95 %, none of all
 * the intervals shown while counting leaves the truth out. They hold however it is decided
 * when to stop, and are therefore wider than those for a number of forks fixed beforehand.
 *
 * The mixture of all likelihoods with a Beta(1/2, 1/2) prior, over the likelihood of p, is
 * a fair game under p: a p against which it has won 1/errorRate is left out.
 */
export function confidenceSequence(fails: number, forks: number, errorRate = 0.05): Interval {
  if (forks === 0) return UNKNOWN
  if (errorRate !== 0.05 || forks > MEMO_FORKS) return invert(fails, forks, errorRate)
  return (memo[(forks * (forks - 1)) / 2 + forks + fails] ??= invert(fails, forks, errorRate))
}

function invert(fails: number, forks: number, errorRate: number): Interval {
  const passes = forks - fails
  const bar = logBeta(fails + 0.5, passes + 0.5) - LOG_PI + Math.log(errorRate)
  const above = (p: number) => logPower(p, fails) + logPower(1 - p, passes) - bar
  const seen = fails / forks
  return {
    low: fails === 0 ? 0 : crossing(above, 0, seen),
    high: passes === 0 ? 1 : crossing((p) => -above(p), seen, 1),
  }
}

/** ln(base ** power), where 0 ** 0 is 1. */
function logPower(base: number, power: number): number {
  return power === 0 ? 0 : power * Math.log(base)
}

/** ln B(1/2, 1/2). */
const LOG_PI = Math.log(Math.PI)

const MEMO_FORKS = 200
/** Row after row, one for each number of forks. */
const memo: Interval[] = []
