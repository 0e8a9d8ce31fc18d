import type { ForkSource } from '../fork-source.js'
import { CountedForks, stepsBefore } from './counted-forks.js'

/**
 * Frees one step at a time and keeps the others: the steps without which it mostly passes.
 * What other tools do. It finds nothing where two steps must be repaired together.
 */
export async function oneByOne(
  source: ForkSource,
  forksPerStep = 3,
  forks = new CountedForks(source),
): Promise<number[]> {
  const repairing: number[] = []
  for (let step = 0; step < source.stepCount; step++) {
    const others = stepsBefore(source.stepCount).filter((other) => other !== step)
    const counted = await forks.run(others, forksPerStep)
    if (counted.fails * 2 < counted.forks) repairing.push(step)
  }
  return repairing
}
