import type { ForkSource } from '../fork-source.js'
import type { Interval } from '../stats/interval.js'
import { wilson } from '../stats/wilson.js'
import { CountedForks } from './counted-forks.js'
import { betaCdf } from '../stats/beta-quantile.js'

/** How often one step alone fails the run. */
export interface FlipRate extends Interval {
  /** The bounds are Wilson's: for a number of forks that was fixed beforehand. */
  readonly fails: number
  readonly forks: number
  /** How probable so many failures are at the rate at which runs fail anyway. */
  readonly chance: number
  /** Still believed among so many steps, by Benjamini and Hochberg. */
  readonly isBelieved: boolean
}

export interface FlipOptions {
  readonly forksPerStep?: number
  /** Share of false findings among those believed. */
  readonly falseShare?: number
  /** How often a run fails anyway. */
  readonly baseRate?: number
}

/**
 * Keeps one step at a time and frees the others: how often does that fail? An echo fails as
 * well as its root, and half of a joint cause does not fail at all, so this ranks; it cannot blame.
 */
export async function flipRates(
  source: ForkSource,
  { forksPerStep = 10, falseShare = 0.1, baseRate = 0.05 }: FlipOptions = {},
  forks = new CountedForks(source),
): Promise<FlipRate[]> {
  const counted = []
  for (let step = 0; step < source.stepCount; step++)
    counted.push(await forks.run([step], forksPerStep))
  const chances = counted.map((each) => binomialTail(each.fails, each.forks, baseRate))
  const believed = benjaminiHochberg(chances, falseShare)
  return counted.map((each, step) => ({
    ...each,
    ...wilson(each.fails, each.forks),
    chance: chances[step]!,
    isBelieved: believed[step]!,
  }))
}

/**
 * Which of many findings to believe, so that on average no more than a share `q` of those
 * believed is false: true for each of the probabilities of chance that is small enough.
 */
export function benjaminiHochberg(chances: readonly number[], q: number): boolean[] {
  const rising = chances.toSorted((a, b) => a - b)
  let bar = -1
  for (const [rank, chance] of rising.entries())
    if (chance <= (q * (rank + 1)) / chances.length) bar = chance
  return chances.map((chance) => chance <= bar)
}

/** How probable at least this many failures are among so many forks, when each fails at this rate. */
export function binomialTail(fails: number, forks: number, rate: number): number {
  if (fails <= 0) return 1
  if (fails > forks) return 0
  return betaCdf(rate, fails, forks - fails + 1)
}
