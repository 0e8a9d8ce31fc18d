import type { FeatureName, StepFeatures } from './step-features.js'

/** How much one more of a feature adds to the log-odds of a step; 0 where it is missing. */
export type PriorWeights = Readonly<Partial<Record<FeatureName, number>>>

/** No step is ever ruled out before a fork was run. */
export const PRIOR_FLOOR = 0.001

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
