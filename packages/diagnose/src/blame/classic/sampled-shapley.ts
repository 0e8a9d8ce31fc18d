import type { ForkSource } from '../fork-source.js'
import { seededRandom } from '../models/seeded-random.js'
import { CountedForks } from './counted-forks.js'

export interface SampledShare {
  readonly share: number
  /** Standard error of it. */
  readonly error: number
}

/**
 * Shapley shares of all steps, from random orders in which they are kept, each also read
 * backwards. It says how much, not who: root and echo get half each.
 */
export async function sampledShapley(
  source: ForkSource,
  { orders = 20, seed = 1 } = {},
  forks = new CountedForks(source),
): Promise<SampledShare[]> {
  const random = seededRandom(seed)
  const added: number[][] = Array.from({ length: source.stepCount }, () => [])
  for (let drawn = 0; drawn < orders; drawn++) {
    const order = shuffled(source.stepCount, random)
    for (const steps of [order, order.toReversed()]) {
      let before = await failRate(forks, [])
      for (const [place, step] of steps.entries()) {
        const kept = steps.slice(0, place + 1).toSorted((a, b) => a - b)
        const after = await failRate(forks, kept)
        added[step]!.push(after - before)
        before = after
      }
    }
  }
  return added.map((each) => {
    const share = each.reduce((total, one) => total + one, 0) / each.length
    const spread = each.reduce((total, one) => total + (one - share) ** 2, 0)
    return { share, error: Math.sqrt(spread / (each.length - 1) / each.length) }
  })
}

async function failRate(forks: CountedForks, kept: readonly number[]): Promise<number> {
  const counted = await forks.run(kept, 1)
  return counted.fails
}

function shuffled(count: number, random: () => number): number[] {
  const order = Array.from({ length: count }, (_, step) => step)
  for (let place = count - 1; place > 0; place--) {
    const other = Math.floor(random() * (place + 1))
    ;[order[place], order[other]] = [order[other]!, order[place]!]
  }
  return order
}
