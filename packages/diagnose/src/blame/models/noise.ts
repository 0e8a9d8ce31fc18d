import type { Random } from './seeded-random.js'
import type { FailLevels } from './structural-model.js'

/** How plainly a failure shows. */
export const NOISE_LEVELS = ['deterministic', 'noisy', 'hard'] as const

/**
 * `deterministic`: a cause always fails, and nothing else does. `noisy`: with a cause it
 * fails 60 to 100 % of the time, without 0 to 12 %. `hard`: without a cause 10 to 25 %,
 * with one 25 to 45 points more.
 */
export type NoiseLevel = (typeof NOISE_LEVELS)[number]

/** Draws how often a run of this noise fails with its cause and without. */
export function drawLevels(noise: NoiseLevel, random: Random): FailLevels {
  if (noise === 'deterministic') return CERTAIN
  if (noise === 'noisy') return { withCause: 0.6 + 0.4 * random(), without: 0.12 * random() }
  const without = 0.1 + 0.15 * random()
  return { withCause: without + 0.25 + 0.2 * random(), without }
}

/** A cause always fails, and nothing else does. */
export const CERTAIN: FailLevels = { withCause: 1, without: 0 }
