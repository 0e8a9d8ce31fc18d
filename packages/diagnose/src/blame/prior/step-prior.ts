import type { Step } from '@retake/tape'
import type { PriorStep } from './prior-steps.js'
import { priorSteps } from './prior-steps.js'
import { type FeatureName, stepFeatures, type StepFeatures } from './step-features.js'

/** How much one more of a feature adds to the log-odds of a step; 0 where it is missing. */
export type PriorWeights = Readonly<Partial<Record<FeatureName, number>>>

/** No step is ever ruled out before a fork was run. */
const PRIOR_FLOOR = 0.001

/**
 * How likely each step is to be the cause, by what is seen of it: a choice among
 * the steps of one run, P ∝ exp(weights · features). They add up to 1. An opinion
 * that orders forks, never a finding.
 */
export const rankSteps = (features: readonly StepFeatures[], weights: PriorWeights): number[] => {
  const named = Object.entries(weights) as [FeatureName, number][]
  const scores = features.map((step) =>
    named.reduce((sum, [name, weight]) => sum + weight * step[name], 0),
  )
  const top = scores.reduce((most, score) => Math.max(most, score), -Infinity)
  const masses = toShares(scores.map((score) => Math.exp(score - top)))
  return toShares(masses.map((mass) => Math.max(mass, PRIOR_FLOOR)))
}

const toShares = (masses: readonly number[]): number[] => {
  const total = masses.reduce((sum, mass) => sum + mass, 0)
  return masses.map((mass) => mass / total)
}

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
