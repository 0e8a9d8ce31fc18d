import type { BlameMethod } from '../models/score.js'
import { CountedForks } from './counted-forks.js'
import { flipRates } from './flip-rates.js'
import { latestEffect } from './latest-effect.js'
import { oneByOne } from './one-by-one.js'
import { sampledShapley } from './sampled-shapley.js'
import { temporalShapley } from './temporal-shapley.js'

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
