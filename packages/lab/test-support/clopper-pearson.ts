import { betaCdf, findZero, type Interval, UNKNOWN_RATE } from '../../lab/src/search/stats.js'

/** The x that a Beta(a, b) variable stays under with this probability. */
export function betaQuantile(probability: number, a: number, b: number): number {
  return findZero((x) => betaCdf(x, a, b) - probability, 0, 1)
}

/**
 * Bounds of a probability from a number of forks that was fixed beforehand, which hold
 * at least as often as stated whatever the probability is. For gates and exit codes.
 */
export function clopperPearson(fails: number, forks: number, errorRate = 0.05): Interval {
  if (forks === 0) return UNKNOWN_RATE
  const passes = forks - fails
  return {
    low: fails === 0 ? 0 : betaQuantile(errorRate / 2, fails, passes + 1),
    high: passes === 0 ? 1 : betaQuantile(1 - errorRate / 2, fails + 1, passes),
  }
}
