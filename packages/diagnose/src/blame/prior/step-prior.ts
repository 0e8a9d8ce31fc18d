import type { Step } from '@retake/tape'
import type { PriorStep } from './prior-step.js'
import { priorSteps } from './prior-steps.js'
import { type PriorWeights, rankSteps } from './rank-steps.js'
import { stepFeatures } from './step-features.js'

/**
 * Set by hand: who asked for what failed first, what failed first, and who makes things
 * up. Nothing is said about early or late, or about models or tools, because measurements
 * disagree: people mark decisions, early in a run, and never a tool; re-execution finds
 * the step after which nothing could be helped, late in a run; and a tape's tools can be
 * at fault. Weights learned from people's labels (`WHO_AND_WHEN_WEIGHTS`) are better on
 * runs like those, and can be worse than none on other agents. docs/benchmarks.md has the figures.
 */
const PLAIN_WEIGHTS: PriorWeights = {
  isTask: -2,
  suspectOfFailure: 1.5,
  failedFirst: 1,
  hedging: 0.5,
}

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
