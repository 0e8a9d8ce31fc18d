import type { PriorWeights } from './rank-steps.js'

/**
 * Set by hand: who asked for what failed first, what failed first, and who makes things
 * up. Nothing is said about early or late, or about models or tools, because measurements
 * disagree: people mark decisions, early in a run, and never a tool; re-execution finds
 * the step after which nothing could be helped, late in a run; and a tape's tools can be
 * at fault. Weights learned from people's labels (`WHO_AND_WHEN_WEIGHTS`) are better on
 * runs like those, and can be worse than none on other agents. docs/benchmarks.md has the figures.
 */
export const PLAIN_WEIGHTS: PriorWeights = {
  isTask: -2,
  suspectOfFailure: 1.5,
  failedFirst: 1,
  hedging: 0.5,
}
