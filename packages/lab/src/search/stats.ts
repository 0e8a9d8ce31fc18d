/**
 * Bounds of a probability that stay valid when inspected after every fork. With 95 % probability,
 * all intervals shown while counting contain the true value, whatever the stopping rule. They are
 * therefore wider than intervals for a fixed number of forks.
 *
 * The mixture of all likelihoods with a Beta(1/2, 1/2) prior, divided by the likelihood of p, is a
 * martingale under p: every p against which it reaches 1/errorRate is excluded.
 */
export function confidenceSequence(fails: number, forks: number, errorRate = 0.05): Interval {
  if (forks === 0) return UNKNOWN_RATE
  if (errorRate !== 0.05 || forks > MEMO_FORKS) return invert(fails, forks, errorRate)
  return (memo[(forks * (forks - 1)) / 2 + forks + fails] ??= invert(fails, forks, errorRate))
}

function invert(fails: number, forks: number, errorRate: number): Interval {
  const passes = forks - fails
  const bar = logBeta(fails + 0.5, passes + 0.5) - LOG_PI + Math.log(errorRate)
  const above = (p: number) => logPower(p, fails) + logPower(1 - p, passes) - bar
  const seen = fails / forks
  return {
    low: fails === 0 ? 0 : findZero(above, 0, seen),
    high: passes === 0 ? 1 : findZero((p) => -above(p), seen, 1),
  }
}

/** ln(base ** power), where 0 ** 0 is 1. */
function logPower(base: number, power: number): number {
  return power === 0 ? 0 : power * Math.log(base)
}

/** ln B(1/2, 1/2). */
const LOG_PI = Math.log(Math.PI)

const MEMO_FORKS = 200
/** Stored row by row, one row per number of forks. */
const memo: Interval[] = []

/** Lower and upper bound of a probability. */
export interface Interval {
  readonly low: number
  readonly high: number
}

export const UNKNOWN_RATE: Interval = { low: 0, high: 1 }

/** Zero of an increasing function. */
export function findZero(rises: (at: number) => number, from: number, to: number): number {
  let below = from
  let above = to
  for (let halving = 0; halving < 60 && above - below > 1e-12; halving++) {
    const middle = (below + above) / 2
    if (rises(middle) < 0) below = middle
    else above = middle
  }
  return (below + above) / 2
}

/** Natural logarithm of the gamma function for positive numbers (Lanczos, about 15 digits). */
export function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x)
  const shifted = x - 1
  let sum = LANCZOS[0]!
  for (let term = 1; term < LANCZOS.length; term++) sum += LANCZOS[term]! / (shifted + term)
  const base = shifted + 7.5
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(base) - base + Math.log(sum)
}

export function logBeta(a: number, b: number): number {
  return logGamma(a) + logGamma(b) - logGamma(a + b)
}

/** For g = 7, nine terms. */
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
]

/** Probability that a Beta(a, b) variable is at most x. */
export function betaCdf(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  const front = Math.exp(a * Math.log(x) + b * Math.log(1 - x) - logBeta(a, b))
  // The fraction converges fast on the side of the mean.
  return x < (a + 1) / (a + b + 2)
    ? (front * continuedFraction(x, a, b)) / a
    : 1 - (front * continuedFraction(1 - x, b, a)) / b
}

/** Lentz's algorithm for the continued fraction of the incomplete beta function. */
function continuedFraction(x: number, a: number, b: number): number {
  let c = 1
  let d = 1 / apart(1 - ((a + b) * x) / (a + 1))
  let result = d
  for (let m = 1; m <= MAX_TERMS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / apart(1 + even * d)
    c = apart(1 + even / c)
    result *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / apart(1 + odd * d)
    c = apart(1 + odd / c)
    result *= d * c
    if (Math.abs(d * c - 1) < 1e-15) break
  }
  return result
}

/** Avoids division by zero. */
const apart = (value: number) => (Math.abs(value) < 1e-300 ? 1e-300 : value)

const MAX_TERMS = 1000

/**
 * Bounds of a probability for a number of forks fixed beforehand. `z` gives the coverage, averaged
 * over all probabilities. For results inspected after every fork, use `confidenceSequence`.
 */
export function wilson(fails: number, forks: number, z = 1.959964): Interval {
  if (forks === 0) return UNKNOWN_RATE
  const seen = fails / forks
  const scale = 1 + (z * z) / forks
  const middle = (seen + (z * z) / (2 * forks)) / scale
  const half = (z * Math.sqrt((seen * (1 - seen)) / forks + (z * z) / (4 * forks * forks))) / scale
  return {
    low: fails === 0 ? 0 : Math.max(0, middle - half),
    high: fails === forks ? 1 : Math.min(1, middle + half),
  }
}
