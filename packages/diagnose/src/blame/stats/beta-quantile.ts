import { crossing } from './interval.js'
import { logBeta } from './log-gamma.js'

/** How probable a Beta(a, b) variable is to be at most x. */
export function betaCdf(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  const front = Math.exp(a * Math.log(x) + b * Math.log(1 - x) - logBeta(a, b))
  // The fraction converges fast on the side of the mean.
  return x < (a + 1) / (a + b + 2)
    ? (front * continuedFraction(x, a, b)) / a
    : 1 - (front * continuedFraction(1 - x, b, a)) / b
}

/** The x that a Beta(a, b) variable stays under with this probability. */
export function betaQuantile(probability: number, a: number, b: number): number {
  return crossing((x) => betaCdf(x, a, b) - probability, 0, 1)
}

/** Lentz's evaluation of the fraction of the incomplete beta function. */
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

/** Never quite zero, so that it can be divided by. */
const apart = (value: number) => (Math.abs(value) < 1e-300 ? 1e-300 : value)

const MAX_TERMS = 1000
