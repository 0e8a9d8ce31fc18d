import type { ForkSource } from '../fork-source.js'
import { wilson } from '../stats/wilson.js'
import { CountedForks, stepsBefore } from './counted-forks.js'

/**
 * Draws a step and all after it anew, and compares with the unchanged run: the latest step
 * for which it fails plainly less often. Names one step, so half of a joint cause at best.
 */
export async function latestEffect(
  source: ForkSource,
  forksPerStep = 16,
  forks = new CountedForks(source),
): Promise<number | undefined> {
  const unchanged = await forks.run(stepsBefore(source.stepCount), forksPerStep)
  const bar = wilson(unchanged.fails, unchanged.forks).low
  let latest: number | undefined
  for (let step = 0; step < source.stepCount; step++) {
    const counted = await forks.run(stepsBefore(step), forksPerStep)
    if (wilson(counted.fails, counted.forks).high < bar) latest = step
  }
  return latest
}
