import type { PriorWeights } from './rank-steps.js'

/** Set by hand, see `stepPrior`. */
export const PLAIN_WEIGHTS: PriorWeights = {
  isTask: -2,
  suspectOfFailure: 1.5,
  failedFirst: 1,
  hedging: 0.5,
}
