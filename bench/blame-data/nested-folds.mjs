/**
 * Nested cross-validation: a run is ranked by weights that never saw its question,
 * in either half of the data, and neither did the choice of penalty and features.
 */
import { seededRandom } from '@retake/lab/scenarios'
import { choose, fitLogit } from './conditional-logit.mjs'
import { featureSets } from './feature-sets.mjs'

const PENALTIES = [10, 30, 100, 300]
const FOLDS = 10
const INNER_FOLDS = 5

export const ALL = 'all features'
export const CHOSEN = 'features chosen by the inner folds'

/** @typedef {{ id: string, label: number, features: Record<string, number>[] }} Case */

/** Which fold each question is in; runs of one question stay together. @returns {Map<string, number>} */
function foldsOf(ids, count, seed) {
  const random = seededRandom(seed)
  const shuffled = [...new Set(ids)]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((id) => ({ id, at: random() }))
    .toSorted((a, b) => a.at - b.at)
  return new Map(shuffled.map(({ id }, index) => [id, index % count]))
}

/** The cases as rows of numbers, for each set of features. @param {readonly Case[]} cases */
export function prepare(cases) {
  const sets = featureSets(Object.keys(cases[0].features[0]))
  return Object.entries(sets).map(([name, names]) => ({
    name,
    names,
    choices: cases.map(({ id, label, features }) => ({
      id,
      label,
      rows: features.map((step) => Float64Array.from(names, (feature) => step[feature])),
    })),
  }))
}

/**
 * Probabilities for every case, by each set of features and by the set that the
 * inner folds choose.
 *
 * @param {readonly Case[]} cases @param {readonly string[]} ids of all questions that are dealt to folds
 * @param {ReturnType<typeof prepare>} sets
 * @returns {Map<string, number[][]>}
 */
export function rankByNestedFolds(cases, ids, seed, sets = prepare(cases)) {
  const folds = foldsOf(ids, FOLDS, seed)
  const ranked = new Map([...sets.map(({ name }) => name), CHOSEN].map((name) => [name, []]))
  for (let fold = 0; fold < FOLDS; fold++) {
    const isTested = cases.map(({ id }) => folds.get(id) === fold)
    const fitted = sets.map((set) => {
      const training = set.choices.filter((_, index) => !isTested[index])
      const { penalty, loss, hits } = bestPenalty(training, seed * 100 + fold)
      return { ...set, loss, hits, weights: fitLogit(training, penalty) }
    })
    const best = fitted.toSorted((a, b) => b.hits - a.hits || a.loss - b.loss)[0]
    for (const { name, choices, weights } of [...fitted, { ...best, name: CHOSEN }]) {
      for (const [index, { rows }] of choices.entries()) {
        if (isTested[index]) ranked.get(name)[index] = choose(rows, weights)
      }
    }
  }
  return ranked
}

/** The penalty under which questions that were left out are least surprising, and how many were hit. */
export function bestPenalty(training, seed) {
  const ids = training.map(({ id }) => id)
  const folds = foldsOf(ids, INNER_FOLDS, seed)
  const tried = PENALTIES.map((penalty) => {
    let loss = 0
    let hits = 0
    for (let fold = 0; fold < INNER_FOLDS; fold++) {
      const isOut = ({ id }) => folds.get(id) === fold
      const weights = fitLogit(
        training.filter((choice) => !isOut(choice)),
        penalty,
      )
      for (const { rows, label } of training.filter(isOut)) {
        const shares = choose(rows, weights)
        loss -= Math.log(shares[label])
        hits += shares.every((share) => share <= shares[label]) ? 1 : 0
      }
    }
    return { penalty, loss, hits }
  })
  return tried.toSorted((a, b) => a.loss - b.loss)[0]
}
