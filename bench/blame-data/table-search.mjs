/** Searches real failed runs for causes, answered from coalition tables. */
import { blameRun, causeIndexes } from '@retake/lab'
import { oneByOne } from '../planted-models.mjs'
import { TableForks, usableRuns } from './table-forks.mjs'

/** As the prototype allowed. */
const CAUSES_MAX = 10
const ONE_BY_ONE_FORKS = 3

/**
 * @typedef {object} TableResult
 * @property {import('@retake/tape').BlameFindings} findings
 * @property {boolean} isRepairedByCauses All members of all causes repaired, the run passes.
 * @property {boolean} isRepairedByTested The steps of `repair` alone do.
 * @property {boolean} isSmallest No smaller set of steps does.
 * @property {readonly number[]} smallest
 * @property {readonly number[]} blamedInnocent Blamed, although their repair never makes a difference.
 * @property {number} forks
 */

/**
 * @param {import('./table-forks.mjs').TableRun} run
 * @param {{ seed?: number, isDeterministic?: boolean, prior?: readonly number[] }} [options]
 * @returns {Promise<TableResult>}
 */
export async function searchTable(run, { seed = 1, isDeterministic = false, prior } = {}) {
  const forks = new TableForks(run)
  const source = isDeterministic ? Object.assign(forks, { isDeterministic }) : forks
  const findings = await blameRun(source, {
    seed,
    maxCauses: CAUSES_MAX,
    ...(prior !== undefined && { prior }),
  })
  const named = new Set(causeIndexes(findings).flat())
  const repaired = new Set(findings.repair?.steps.map((label) => Number(label) - 1))
  const smallest = forks.smallestRepair()
  const guilty = forks.guiltySteps()
  return {
    findings,
    isRepairedByCauses: forks.passesWhen((step) => named.has(step)),
    isRepairedByTested: forks.passesWhen((step) => repaired.has(step)),
    isSmallest: repaired.size === smallest.length,
    smallest,
    blamedInnocent: [...named].filter((step) => !guilty.includes(step)),
    forks: findings.forks.asked,
  }
}

/** What asking about one step at a time finds. @param {import('./table-forks.mjs').TableRun} run */
export async function searchOneByOne(run) {
  const source = new TableForks(run)
  const found = await oneByOne(source, ONE_BY_ONE_FORKS)
  return { found, forks: source.forks }
}

/** @param {readonly import('./table-forks.mjs').TableRun[]} tables */
export async function searchTables(tables, options = {}) {
  const runs = usableRuns(tables)
  const results = []
  for (const [index, run] of runs.entries()) {
    const prior = options.priorOf?.(run)
    results.push(await searchTable(run, { seed: index + 1, ...options, prior }))
  }
  return results
}

/** @param {readonly TableResult[]} results */
export function sumUp(results) {
  const count = (holds) => results.filter(holds).length
  const forks = results.map((result) => result.forks).toSorted((a, b) => a - b)
  return {
    runs: results.length,
    needSeveral: count(({ smallest }) => smallest.length > 1),
    repairedByCauses: count((result) => result.isRepairedByCauses),
    repairedByTested: count((result) => result.isRepairedByTested),
    smallest: count((result) => result.isSmallest),
    innocent: count((result) => result.blamedInnocent.length > 0),
    forksMean: forks.reduce((sum, each) => sum + each, 0) / forks.length,
    forksMost: forks.at(-1) ?? 0,
  }
}
