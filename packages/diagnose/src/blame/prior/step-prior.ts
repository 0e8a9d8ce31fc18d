import type { Step } from '@retake/tape'
import { PLAIN_WEIGHTS } from './plain-weights.js'
import type { PriorStep } from './prior-step.js'
import { priorSteps } from './prior-steps.js'
import { rankSteps, type PriorWeights } from './rank-steps.js'
import { stepFeatures } from './step-features.js'

/** Steps of a tape: what `blameRun` may be told before any fork. */
export const stepPrior = (steps: readonly Step[]): number[] => cautiousPrior(priorSteps(steps))

/**
 * Half of the belief goes by the features, half to all steps alike: a prior that
 * is wrong then costs a bisection about one question more than none.
 */
export const cautiousPrior = (
  steps: readonly PriorStep[],
  weights: PriorWeights = PLAIN_WEIGHTS,
): number[] =>
  rankSteps(stepFeatures(steps), weights).map((share) => (share + 1 / steps.length) / 2)
