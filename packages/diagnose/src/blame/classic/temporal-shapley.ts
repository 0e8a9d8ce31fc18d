import type { ForkSource } from '../fork-source.js'
import { CountedForks, stepsBefore } from './counted-forks.js'

export interface TemporalOptions {
  readonly forksPerStep?: number
  readonly rounds?: number
}

/**
 * How much each step adds to the rate of failing when steps are kept one after the other,
 * in the order in which they happened. The last half of a joint cause gets all of it.
 */
export async function temporalShapley(
  source: ForkSource,
  { forksPerStep = 5, rounds = 3 }: TemporalOptions = {},
  forks = new CountedForks(source),
): Promise<number[]> {
  const shares: number[] = stepsBefore(source.stepCount).map(() => 0)
  for (let round = 0; round < rounds; round++) {
    let before = 0
    for (let step = 0; step < source.stepCount; step++) {
      const counted = await forks.run(stepsBefore(step + 1), forksPerStep)
      const rate = counted.forks > 0 ? counted.fails / counted.forks : before
      shares[step]! += (rate - before) / rounds
      before = rate
    }
  }
  return shares
}
