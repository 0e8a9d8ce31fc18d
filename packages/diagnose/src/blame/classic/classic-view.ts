import type { ForkSource } from '../fork-source.js'
import { CountedForks, type ForkLimits } from './counted-forks.js'
import { flipRates, type FlipOptions, type FlipRate } from './flip-rates.js'
import { temporalShapley } from './temporal-shapley.js'

export interface ClassicOptions extends FlipOptions, ForkLimits {
  /** What people call each step; their places from 1 unless set. */
  readonly labels?: readonly string[]
  /** How often every prefix is asked for its share. */
  readonly rounds?: number
}

/** A step as tools see it that ask about one step at a time. */
export interface ClassicStep {
  readonly label: string
  readonly flip: FlipRate
  /** Its temporal Shapley share. */
  readonly share: number
  /** By these measures; for what it is worth, beside the search. */
  readonly isNecessary: boolean
  readonly isSufficient: boolean
}

/** For comparison with the search: it ranks steps, and names no cause. */
export interface ClassicView {
  readonly steps: readonly ClassicStep[]
  readonly forksPerStep: number
  readonly rounds: number
  readonly falseShare: number
  readonly forks: number
  readonly undefinedForks: number
  /** A budget or the user ended it; what was not reached has no forks. */
  readonly isStopped: boolean
}

const FORKS_PER_STEP = 5
const ROUNDS = 3
const FALSE_SHARE = 0.1

/** Flip rate and temporal Shapley share of every step, with a fixed number of forks each. */
export async function classicView(
  source: ForkSource,
  options: ClassicOptions = {},
): Promise<ClassicView> {
  const { forksPerStep = FORKS_PER_STEP, rounds = ROUNDS, falseShare = FALSE_SHARE } = options
  const forks = new CountedForks(source, options)
  const flips = await flipRates(source, { ...options, forksPerStep, falseShare }, forks)
  const shares = await temporalShapley(source, { forksPerStep, rounds }, forks)
  const steps = flips.map((flip, step) => ({
    label: options.labels?.[step] ?? String(step + 1),
    flip,
    share: shares[step]!,
    isNecessary: shares[step]! >= 0.5,
    isSufficient: flip.forks > 0 && flip.fails / flip.forks >= 0.5,
  }))
  const isStopped = forks.asked < classicForks(source.stepCount, options)
  const { asked, undefinedForks } = forks
  return { steps, forksPerStep, rounds, falseShare, forks: asked, undefinedForks, isStopped }
}

/** How many forks that view takes. */
export function classicForks(stepCount: number, options: ClassicOptions = {}): number {
  const { forksPerStep = FORKS_PER_STEP, rounds = ROUNDS } = options
  return stepCount * forksPerStep * (1 + rounds)
}
