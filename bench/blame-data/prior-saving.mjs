/** How many forks a prior saves, and what a wrong one costs. */
import { blameRun, cautiousPrior, rankSteps } from '@retake/lab'
import { accusationOf, scoreMethod, structuralModel } from '@retake/lab/scenarios'
import { randomModel } from '../planted-models.mjs'
import { stepFeatures } from './step-features.mjs'
import { TableForks } from './table-forks.mjs'
import { searchTables, sumUp } from './table-search.mjs'
import { WHO_AND_WHEN_WEIGHTS } from './who-and-when-weights.mjs'

const SUSPECTED = 0.4

/** One step gets 40 %, the others share the rest. */
const suspecting = (stepCount, suspect) =>
  Array.from({ length: stepCount }, (_, step) =>
    step === suspect ? SUSPECTED : (1 - SUSPECTED) / (stepCount - 1),
  )

/** Where the run's fate was sealed: the search looks for that step first. */
const rootOf = ({ truth }) => truth.at(-1)

/** A step beside the root that has nothing to do with it; the hardest to tell from it. */
function innocentOf({ stepCount, truth, echoes, backups }) {
  const guilty = new Set([...truth, ...echoes, ...backups.flat()])
  const root = truth.at(-1)
  const isInnocent = (step) => step >= 0 && step < stepCount && !guilty.has(step)
  for (let off = 1; off < stepCount; off++) {
    const near = [root + off, root - off].find(isInnocent)
    if (near !== undefined) return near
  }
  return root
}

const PRIORS = {
  none: () => undefined,
  'gives the root 40 %': (model) => suspecting(model.stepCount, rootOf(model)),
  'gives an innocent neighbour 40 %': (model) => suspecting(model.stepCount, innocentOf(model)),
}

/** Planted failures with known truth. @param {'deterministic' | 'noisy'} noise */
export async function savingOnModels(noise, count) {
  const models = Array.from({ length: count }, (_, seed) => randomModel(seed + 1, noise))
  return scorePriors(
    models,
    Object.entries(PRIORS).map(([name, priorOf]) => ({ name, priors: models.map(priorOf) })),
  )
}

/** @param {readonly { name: string, priors: readonly (readonly number[] | undefined)[] }[]} named */
async function scorePriors(models, named) {
  const rows = []
  for (const { name, priors } of named) {
    let next = 0
    const score = await scoreMethod(async (model) => {
      const prior = priors[next++]
      return accusationOf(await blameRun(model, { ...(prior && { prior }) }))
    }, models)
    rows.push({ name, ...score })
  }
  return rows
}

const LEVELS = {
  'fails always or never': { withCause: 1, without: 0 },
  'fails with .8, else with .05': { withCause: 0.8, without: 0.05 },
}

/**
 * Labelled runs cannot be run again. As if the labelled step, and nothing else, had
 * made each fail, this tells how many forks the prior would have saved.
 */
export async function savingOnLabels(runs, rankings) {
  const parts = ['AG', 'HC'].flatMap((half) =>
    Object.keys(LEVELS).map((noise) => ({ half, noise })),
  )
  const results = []
  for (const { half, noise } of parts) {
    const own = runs.flatMap((run, index) => (run.half === half ? [{ run, index }] : []))
    const models = own.map(({ run, index }) => labelledModel(run, LEVELS[noise], index))
    const rows = await scorePriors(models, [
      { name: 'none', priors: own.map(() => undefined) },
      { name: 'as shipped', priors: own.map(({ run }) => cautiousPrior(run.steps)) },
      {
        name: 'learned in nested folds, half of it uniform',
        priors: own.map(({ index }) => halfUniform(rankings[index])),
      },
      {
        name: 'gives the labelled step 40 %',
        priors: own.map(({ run }) => suspecting(run.steps.length, run.label)),
      },
    ])
    results.push({ half, noise, rows })
  }
  return results
}

const labelledModel = ({ steps, label }, levels, seed) =>
  structuralModel(
    {
      name: `labelled ${seed}`,
      stepCount: steps.length,
      faulty: [label],
      isFaulted: (values) => values[label] === 1,
      levels,
      truth: [label],
    },
    seed,
  )

const halfUniform = (shares) => shares.map((share) => (share + 1 / shares.length) / 2)

/** A table knows roles and failures and no words; so that is all the prior sees. */
const tablePriorSteps = ({ steps }) =>
  steps.map(({ role, tool, err }) => ({
    role: TABLE_ROLES[role] ?? 'environment',
    speaker: role,
    text: '',
    isError: err,
    ...(tool !== null && { calls: tool }),
  }))

const TABLE_ROLES = { system: 'task', user: 'task', assistant: 'agent' }

const TABLE_PRIORS = {
  none: () => undefined,
  'as shipped, without words': (run) => cautiousPrior(tablePriorSteps(run)),
  "learned from people's labels, without words": (run) =>
    halfUniform(rankSteps(stepFeatures(tablePriorSteps(run)), WHO_AND_WHEN_WEIGHTS)),
  'gives a step of the smallest repair 40 %': (run) => {
    const forks = new TableForks(run)
    return suspecting(forks.stepCount, forks.smallestRepair().at(-1))
  },
  'gives the step beside it 40 %': (run) => {
    const forks = new TableForks(run)
    const root = forks.smallestRepair().at(-1)
    return suspecting(forks.stepCount, root === 0 ? 1 : root - 1)
  },
}

/** @param {readonly import('./table-forks.mjs').TableRun[]} tables */
export async function savingOnTables(tables) {
  const rows = []
  for (const [name, priorOf] of Object.entries(TABLE_PRIORS)) {
    rows.push({ name, ...sumUp(await searchTables(tables, { priorOf })) })
  }
  return rows
}
