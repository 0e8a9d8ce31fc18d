import { readFileSync } from 'node:fs'
import { blameRun } from '@retake/diagnose'
import { accusationOf, SCENARIO_NAMES, SCENARIOS, scoreMethod } from '@retake/diagnose/scenarios'
import { meanScore, randomModel } from './planted-models.mjs'

const figures = JSON.parse(
  readFileSync(new URL('../test/blame/figures-to-reach.json', import.meta.url), 'utf8'),
)

/**
 * How well the search for causes does on failures whose causes were planted, 1,000 of each
 * kind. Depends on no clock: the same seeds come to the same figures.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const seeds = quick ? 20 : 1000
  const scores = []
  let worst = { part: 0, name: '' }
  for (const name of SCENARIO_NAMES) {
    const score = await scoreOf((seed) => SCENARIOS[name](seed), seeds)
    const part = score.forksMean / figures.scenarios[name]
    if (part > worst.part) worst = { part, name }
    scores.push(score)
  }
  const rows = rowsOf('17 scenarios', meanScore(scores), figures.mean, seeds)
  rows.push({
    name: 'blame: forks / allowed, scenario that comes nearest',
    ratio: worst.part,
    gate: { max: 1 },
    method: `${worst.name}, mean of ${seeds} seeds`,
  })
  for (const [noise, reach] of Object.entries(figures.random)) {
    const score = await scoreOf((seed) => randomModel(seed, noise), seeds)
    rows.push(...rowsOf(`random, ${noise}`, score, reach, seeds))
  }
  return rows
}

function scoreOf(modelOf, seeds) {
  let seed = 0
  const models = Array.from({ length: seeds }, (_, index) => modelOf(index + 1))
  return scoreMethod(async (model) => accusationOf(await blameRun(model, { seed: ++seed })), models)
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
