export interface Tally {
  readonly fails: number
  readonly forks: number
}

const NONE: Tally = { fails: 0, forks: 0 }

const HIGH = [0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.995]
const LOW = [0.005, 0.03, 0.08, 0.15, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
const MIN_GAP = 0.09

/** Prior weight of a deterministic run, relative to any other pair of rates. */
const CERTAINTY_WEIGHT = 12
/** The same for a run whose first forks behaved identically. */
const EXPECTED_WEIGHT = 150

/**
 * Probabilities of pairs of failure rates: with a cause pinned, and without one. Assumes that there
 * are only these two rates; a coalition with a rate between them is assigned to the nearer one.
 */
export class Levels {
  /** The pairs, and their probabilities. */
  readonly high: Float64Array
  readonly low: Float64Array
  readonly weights: Float64Array
  /** True while the run seems deterministic, so that one fork usually decides. */
  isCertaintyExpected = false
  private readonly prior: Float64Array
  private readonly certain: number
  private readonly logs: Readonly<Record<'high' | 'notHigh' | 'low' | 'notLow', Float64Array>>
  private readonly terms: Float64Array

  constructor(isDeterministic: boolean) {
    const pairs = isDeterministic
      ? [[1 - 1e-9, 1e-9] as const]
      : HIGH.flatMap((high) =>
          LOW.filter((low) => high - low >= MIN_GAP - 1e-9).map((low) => [high, low] as const),
        )
    this.high = Float64Array.from(pairs, ([high]) => high)
    this.low = Float64Array.from(pairs, ([, low]) => low)
    this.certain = pairs.findIndex(([high, low]) => high > 0.99 && low < 0.01)
    this.prior = new Float64Array(pairs.length).fill(1)
    this.prior[this.certain] = CERTAINTY_WEIGHT
    const total = this.prior.reduce((sum, weight) => sum + weight, 0)
    for (let pair = 0; pair < this.prior.length; pair++) this.prior[pair]! /= total
    this.weights = this.prior.slice()
    this.terms = new Float64Array(pairs.length)
    const log = (rates: Float64Array) => rates.map((rate) => Math.log(rate))
    const logNot = (rates: Float64Array) => rates.map((rate) => Math.log1p(-rate))
    this.logs = {
      high: log(this.high),
      notHigh: logNot(this.high),
      low: log(this.low),
      notLow: logNot(this.low),
    }
  }

  /** Failure rate with a cause, averaged over the probable rates. */
  get meanHigh(): number {
    return this.mean(this.high)
  }

  get meanLow(): number {
    return this.mean(this.low)
  }

  /** Fits the rates to coalitions that contain a cause and coalitions that do not. */
  refit(failing: Tally, passing: Tally): void {
    this.fillTerms(failing, passing)
    let highest = -Infinity
    for (const term of this.terms) if (term > highest) highest = term
    let total = 0
    for (let pair = 0; pair < this.terms.length; pair++) {
      const isExpected = this.isCertaintyExpected && pair === this.certain
      const before = this.prior[pair]! * (isExpected ? EXPECTED_WEIGHT / CERTAINTY_WEIGHT : 1)
      const weight = before * Math.exp(this.terms[pair]! - highest)
      this.weights[pair] = weight
      total += weight
    }
    for (let pair = 0; pair < this.weights.length; pair++) this.weights[pair]! /= total
  }

  /** Log likelihood of both tallies if the two rates differ, under the prior. */
  logEvidence(failing: Tally, passing: Tally): number {
    return this.logLikelihood(failing, passing, this.prior)
  }

  /** Log likelihood ratio of a coalition's forks: with a cause against without one. */
  logRatio(tally: Tally): number {
    return (
      this.logLikelihood(tally, NONE, this.weights) - this.logLikelihood(NONE, tally, this.weights)
    )
  }

  private logLikelihood(failing: Tally, passing: Tally, weights: Float64Array): number {
    this.fillTerms(failing, passing)
    return this.logSum(weights)
  }

  private fillTerms(failing: Tally, passing: Tally): void {
    const { high: logHigh, notHigh: logNotHigh, low: logLow, notLow: logNotLow } = this.logs
    const highPasses = failing.forks - failing.fails
    const lowPasses = passing.forks - passing.fails
    for (let pair = 0; pair < this.terms.length; pair++) {
      this.terms[pair] =
        failing.fails * logHigh[pair]! +
        highPasses * logNotHigh[pair]! +
        passing.fails * logLow[pair]! +
        lowPasses * logNotLow[pair]!
    }
  }

  /** ln Σ weight · exp(term), without underflow. */
  private logSum(weights: Float64Array): number {
    let highest = -Infinity
    for (let pair = 0; pair < weights.length; pair++) {
      if (weights[pair]! > 0 && this.terms[pair]! > highest) highest = this.terms[pair]!
    }
    let sum = 0
    for (let pair = 0; pair < weights.length; pair++) {
      if (weights[pair]! > 0) sum += weights[pair]! * Math.exp(this.terms[pair]! - highest)
    }
    return Math.log(sum) + highest
  }

  private mean(rates: Float64Array): number {
    let sum = 0
    for (let pair = 0; pair < rates.length; pair++) sum += rates[pair]! * this.weights[pair]!
    return sum
  }
}
