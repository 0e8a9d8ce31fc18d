import { readFileSync } from 'node:fs'
import { blameRun, DEFAULT_FORKS } from '@retake/lab'
import { accusationOf, SCENARIO_NAMES, SCENARIOS, scoreMethod } from '@retake/lab/scenarios'
import { judgeWorld, meanScore, randomModel, worldModel } from './planted-models.mjs'

const figures = JSON.parse(
  readFileSync(new URL('../test/blame/figures-to-reach.json', import.meta.url), 'utf8'),
)

/** Rates of failing without any cause, and how sure the search is asked to be. */
const BASE_RATES = [0, 0.1, 0.3, 0.5, 0.7, 0.9]
const CONFIDENCES = [0.5, 0.75, 0.9, 0.95, 0.99]

/**
 * How well the search for causes does on failures whose causes were planted, 1,000 of each
 * kind, with the forks that a command allows by default and without a limit. Depends on no
 * clock: the same seeds come to the same figures.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const seeds = quick ? 20 : 1000
  const rows = []
  for (const maxForks of [DEFAULT_FORKS, undefined]) {
    const limit = maxForks === undefined ? 'no limit' : `${maxForks} forks`
    const scores = []
    let worst = { part: 0, name: '' }
    for (const name of SCENARIO_NAMES) {
      const score = await scoreOf((seed) => SCENARIOS[name](seed), seeds, maxForks)
      const part = score.forksMean / figures.scenarios[name]
      if (part > worst.part) worst = { part, name }
      scores.push(score)
    }
    rows.push(
      ...rowsOf(`17 scenarios, ${limit}`, meanScore(scores), gatesOf('mean', maxForks), seeds),
    )
    if (maxForks === undefined)
      rows.push({
        name: 'blame: forks / allowed, scenario that comes nearest',
        ratio: worst.part,
        gate: { max: 1 },
        method: `${worst.name}, mean of ${seeds} seeds`,
      })
    for (const noise of Object.keys(figures.random)) {
      const score = await scoreOf((seed) => randomModel(seed, noise), seeds, maxForks)
      rows.push(...rowsOf(`random, ${noise}, ${limit}`, score, gatesOf(noise, maxForks), seeds))
    }
  }
  rows.push(await worldsRow(quick ? 40 : 2000))
  for (const baseRate of BASE_RATES) rows.push(await calibrationRow(baseRate, quick ? 10 : 300))
  return rows
}

/** With the default limit most hard failures stay open, which is not an error. */
function gatesOf(kind, maxForks) {
  const reach = kind === 'mean' ? figures.mean : figures.random[kind]
  return maxForks === undefined ? reach : { ...reach, exact: kind === 'hard' ? 0 : 0.98 }
}

/** Innocent steps in runs with ambient causes, races, rewording and high base rates. */
async function worldsRow(runs) {
  let innocent = 0
  let exact = 0
  let failures = 0
  let forks = 0
  for (let seed = 1; seed <= runs; seed++) {
    const model = worldModel(seed)
    const findings = await blameRun(model, { seed, maxForks: DEFAULT_FORKS })
    const judged = judgeWorld(model, findings)
    if (judged.confidence > 0.9 && judged.innocent.length > 0) innocent++
    forks += findings.forks.asked
    if (model.kind === 'nobody') continue
    failures++
    if (judged.isExact && findings.verdict !== 'stopped') exact++
  }
  return {
    name: 'blame: worlds in which an innocent step is blamed with 90 % confidence',
    ratio: innocent / runs,
    gate: { max: 0 },
    method: `${runs} worlds, ${DEFAULT_FORKS} forks allowed, ${(forks / runs).toFixed(0)} taken; ${exact} of ${failures} failures exactly named`,
  }
}

/** How often the first cause is exactly right, for each confidence that was asked for. */
async function calibrationRow(baseRate, runs) {
  const parts = []
  let wrong = 0
  for (const confidence of CONFIDENCES) {
    const sum = { named: 0, right: 0, stated: 0 }
    for (let seed = 1; seed <= runs; seed++) {
      const model = worldModel(200_000 + seed, { baseRate })
      const options = { seed, maxForks: DEFAULT_FORKS, errorRate: 1 - confidence }
      const findings = await blameRun(model, options)
      const judged = judgeWorld(model, findings)
      if (!judged.isNamed || judged.confidence === 0) continue
      sum.named++
      sum.stated += findings.confidence
      if (judged.isExact) sum.right++
    }
    const percent = (share) => (100 * share).toFixed(1)
    const stated = sum.named === 0 ? '–' : percent(sum.stated / sum.named)
    const right = sum.named === 0 ? '–' : percent(sum.right / sum.named)
    parts.push(`asked ${100 * confidence}: stated ${stated}, right ${right} of ${sum.named}`)
    wrong = sum.named === 0 ? 0 : 1 - sum.right / sum.named
  }
  return {
    name: `blame: wrong first cause at 99 %, agent fails ${baseRate} anyway`,
    ratio: wrong,
    gate: { max: 0.02 },
    method: `${runs} worlds each, in percent; ${parts.join('; ')}`,
  }
}

function scoreOf(modelOf, seeds, maxForks) {
  let seed = 0
  const models = Array.from({ length: seeds }, (_, index) => modelOf(index + 1))
  const limit = maxForks === undefined ? {} : { maxForks }
  return scoreMethod(
    async (model) => accusationOf(await blameRun(model, { seed: ++seed, ...limit })),
    models,
  )
}

function rowsOf(what, score, reach, seeds) {
  const method = `${score.runs} runs, ${seeds} seeds each; all causes ${score.allCauses.toFixed(3)}`
  return [
    { name: `blame: exact, ${what}`, ratio: score.exact, gate: { min: reach.exact }, method },
    {
      name: `blame: runs with a false blame, ${what}`,
      ratio: score.falseBlameRuns,
      gate: { max: reach.wrong },
      method,
    },
    {
      name: `blame: mean forks, ${what}`,
      ratio: score.forksMean,
      gate: { max: reach.forks },
      method: `nineteen of twenty runs took at most ${score.forksP95}`,
    },
  ]
}
