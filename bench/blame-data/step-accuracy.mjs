/** Who&When: how often rankers and constant guesses name the step that a person named. */
import { cautiousPrior, rankSteps } from '@retake/lab'
import { choose, fitLogit } from './conditional-logit.mjs'
import { ALL, CHOSEN, bestPenalty, prepare, rankByNestedFolds } from './nested-folds.mjs'
import { scoreRandom, scoreRankings, scoreRule } from './step-score.mjs'
import { stepFeatures } from './step-features.mjs'
import { wasTrainedOn } from './training-half.mjs'
import { WHO_AND_WHEN_WEIGHTS } from './who-and-when-weights.mjs'

const HALVES = ['AG', 'HC']

/** @param {readonly import('./who-and-when.mjs').LabelledRun[]} runs @param {readonly number[]} seeds */
export function measureStepAccuracy(runs, seeds) {
  const cases = runs.map((run) => ({ ...run, features: stepFeatures(run.steps) }))
  const ids = cases.map(({ id }) => id)
  const byHalf = HALVES.map((half) => {
    const own = cases.filter((run) => run.half === half)
    return { half, own, rankings: rankSeeds(own, ids, seeds), rankUnseen: fitOn(own) }
  })
  return {
    halves: byHalf.map(({ half, own, rankings }) => ({
      half,
      rows: [
        ...guesses(own),
        ...[...rankings].map(([name, bySeed]) => scoreRankings(name, own, bySeed)),
      ],
    })),
    pooled: [...guesses(cases), ...pooledRows(byHalf, seeds)],
    together: togetherRows(cases, ids, seeds),
    transfer: byHalf.map(({ half, rankUnseen }, index) => {
      const { half: other, own } = byHalf[1 - index]
      const name = `trained on ${half}, asked about ${other}`
      return scoreRankings(name, own, [own.map(rankUnseen)])
    }),
    shipped: shippedRows(cases),
    /** For each run, by what was learned without its question; one dealing of folds. */
    rankings: byHalf.flatMap(({ rankings }) => rankings.get(CHOSEN)[0]),
  }
}

/** @returns {Map<string, number[][][]>} by name and seed, the probabilities for each run */
function rankSeeds(cases, ids, seeds, sets = prepare(cases)) {
  const rankings = new Map()
  for (const seed of seeds) {
    for (const [name, ranked] of rankByNestedFolds(cases, ids, seed, sets)) {
      rankings.set(name, [...(rankings.get(name) ?? []), ranked])
    }
  }
  return rankings
}

/** Both halves, each ranked by what was learned in it. */
function pooledRows(byHalf, seeds) {
  const runs = byHalf.flatMap(({ own }) => own)
  return [...byHalf[0].rankings.keys()].map((name) => {
    const bySeed = seeds.map((_, seed) =>
      byHalf.flatMap(({ rankings }) => rankings.get(name)[seed]),
    )
    return scoreRankings(name, runs, bySeed)
  })
}

/** One set of weights for both halves, as the shipped ones are. */
function togetherRows(cases, ids, seeds) {
  const sets = prepare(cases).filter(({ name }) => name === ALL)
  const bySeed = rankSeeds(cases, ids, seeds, sets).get(ALL)
  return HALVES.map((half) => {
    const isOwn = cases.map((run) => run.half === half)
    const pick = (items) => items.filter((_, index) => isOwn[index])
    return scoreRankings(`${half}, trained on both`, pick(cases), bySeed.map(pick))
  })
}

/** All features, all runs of one half; for asking about the other half. */
function fitOn(cases) {
  const { names, choices } = prepare(cases).find(({ name }) => name === ALL)
  const weights = fitLogit(choices, bestPenalty(choices, 1).penalty)
  return ({ features }) =>
    choose(
      features.map((step) => Float64Array.from(names, (name) => step[name])),
      weights,
    )
}

const guesses = (runs) => [
  scoreRandom(runs),
  scoreRule('always step 1', runs, () => 1),
  scoreRule('agent step before the first environment error, else step 1', runs, suspectOf),
]

const suspectOf = ({ features }) => features.findIndex(({ suspect }) => suspect === 1)

/** What the package ships. Learned weights only on runs that they were not learned from. */
function shippedRows(cases) {
  return HALVES.flatMap((half) => {
    const own = cases.filter((run) => run.half === half)
    const unseen = own.filter(({ id }) => !wasTrainedOn(id))
    const learned = unseen.map(({ features }) => rankSteps(features, WHO_AND_WHEN_WEIGHTS))
    return [
      scoreRankings(`${half}, shipped`, own, [own.map(({ steps }) => cautiousPrior(steps))]),
      ...(unseen.length === 0
        ? []
        : [
            scoreRankings(`${half}, all learned weights, runs they never saw`, unseen, [learned]),
            scoreRankings(`${half}, shipped, runs its weights never saw`, unseen, [
              unseen.map(({ steps }) => cautiousPrior(steps)),
            ]),
          ]),
    ]
  })
}
