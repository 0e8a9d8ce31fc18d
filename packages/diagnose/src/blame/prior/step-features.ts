import { failureFeatures } from './failure-features.js'
import { noveltyFeatures } from './novelty-features.js'
import { positionFeatures } from './position-features.js'
import { priorRun } from './prior-run.js'
import type { PriorStep } from './prior-step.js'
import { wordingFeatures } from './wording-features.js'

/** What is seen of one step without running anything; every feature by its name. */
export type StepFeatures = ReturnType<ReturnType<typeof positionFeatures>> &
  ReturnType<ReturnType<typeof failureFeatures>> &
  ReturnType<ReturnType<typeof wordingFeatures>> &
  ReturnType<ReturnType<typeof noveltyFeatures>>

export type FeatureName = keyof StepFeatures

/**
 * Features of every step of a run: the same steps always give the same numbers.
 * They are hints, drawn from words and places; none of them shows a cause.
 */
export const stepFeatures = (steps: readonly PriorStep[]): StepFeatures[] => {
  const run = priorRun(steps)
  const position = positionFeatures(run)
  const failure = failureFeatures(run)
  const wording = wordingFeatures(run)
  const novelty = noveltyFeatures(run)
  return steps.map((_, index) => ({
    ...position(index),
    ...failure(index),
    ...wording(index),
    ...novelty(index),
  }))
}
