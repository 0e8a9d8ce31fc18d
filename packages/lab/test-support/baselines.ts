import type { BlameMethod } from '../../lab/src/scenarios/planted-model.js'
import { CountedForks } from '../../lab/src/search/classic-view.js'
import { upTo } from '../../lab/src/search/step-set.js'
import { flipRates } from '../../lab/src/search/classic-view.js'
import { oneByOne } from '../../../bench/planted-models.mjs'
import { temporalShapley } from '../../lab/src/search/classic-view.js'
import type { ForkSource } from '../../lab/src/search/fork-source.js'
import { wilson } from '../../lab/src/search/stats.js'
import { seededRandom } from '../../lab/src/search/seeded-random.js'

/**
 * Other ways to find causes, to be scored beside the search: written anew from what their
 * authors published, each with the number of forks that it is known for.
 */
export const BASELINES = {
  'flip rate k=10': async (model) => {
    const forks = new CountedForks(model)
    const rates = await flipRates(model, { forksPerStep: 10 }, forks)
    const blamed = placesWhere(rates, ({ isBelieved }) => isBelieved)
    return { blamed, first: placeOfMost(rates.map(({ fails }) => fails)), forks: forks.asked }
  },

  'temporal Shapley k=5 m=3': async (model) => {
    const forks = new CountedForks(model)
    await flipRates(model, { forksPerStep: 5 }, forks)
    const shares = await temporalShapley(model, { forksPerStep: 5, rounds: 3 }, forks)
    const blamed = placesWhere(shares, (share) => share >= 0.5)
    return { blamed, first: placeOfMost(shares), forks: forks.asked }
  },

  'one by one k=3': async (model) => {
    const forks = new CountedForks(model)
    const blamed = await oneByOne(model, 3, forks)
    return { blamed, forks: forks.asked }
  },

  'latest effect k=16': async (model) => {
    const forks = new CountedForks(model)
    const latest = await latestEffect(model, 16, forks)
    return { blamed: latest === undefined ? [] : [latest], forks: forks.asked }
  },

  'sampled Shapley 20 orders': async (model) => {
    const forks = new CountedForks(model)
    const shares = await sampledShapley(model, { orders: 20 }, forks)
    const blamed = placesWhere(shares, ({ share, error }) => share - 2.8 * error > 0.02)
    return { blamed, first: placeOfMost(shares.map(({ share }) => share)), forks: forks.asked }
  },
} satisfies Readonly<Record<string, BlameMethod>>

export type BaselineName = keyof typeof BASELINES

function placesWhere<T>(list: readonly T[], holds: (item: T) => boolean): number[] {
  return list.flatMap((item, place) => (holds(item) ? [place] : []))
}

function placeOfMost(list: readonly number[]): number | undefined {
  const most = Math.max(...list)
  return most > 0 ? list.indexOf(most) : undefined
}

/**
 * Draws a step and all after it anew, and compares with the unchanged run: the latest step
 * for which it fails plainly less often. Names one step, so half of a joint cause at best.
 */
async function latestEffect(
  source: ForkSource,
  forksPerStep = 16,
  forks = new CountedForks(source),
): Promise<number | undefined> {
  const unchanged = await forks.run(upTo(source.stepCount - 1), forksPerStep)
  const bar = wilson(unchanged.fails, unchanged.forks).low
  let latest: number | undefined
  for (let step = 0; step < source.stepCount; step++) {
    const counted = await forks.run(upTo(step - 1), forksPerStep)
    if (wilson(counted.fails, counted.forks).high < bar) latest = step
  }
  return latest
}

interface SampledShare {
  readonly share: number
  /** Standard error of it. */
  readonly error: number
}

/**
 * Shapley shares of all steps, from random orders in which they are kept, each also read
 * backwards. It says how much, not who: root and echo get half each.
 */
async function sampledShapley(
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
