import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { usableRuns, type TableRun } from '../../bench/blame-data/table-forks.mjs'
import {
  searchOneByOne,
  searchTables,
  sumUp,
  type TableResult,
} from '../../bench/blame-data/table-search.mjs'

/** 65 real failed runs, forked by looking things up: test/golden/blame/README.md. */
const { runs } = JSON.parse(
  readFileSync(new URL('../golden/blame/tau-coalition-tables.json', import.meta.url), 'utf8'),
) as { readonly runs: TableRun[] }

const FORKS_MEAN_MAX = 35

describe('real failed runs, as coalition tables', () => {
  let results: readonly TableResult[]

  beforeAll(async () => {
    results = await searchTables(runs)
  })

  test('the found causes repair every run that can be repaired', () => {
    expect(sumUp(results)).toMatchObject({ runs: 65, needSeveral: 7, repairedByCauses: 65 })
  })

  test('the tested repair repairs every run, and no smaller set of steps does', () => {
    expect(sumUp(results)).toMatchObject({ repairedByTested: 65, smallest: 65 })
  })

  test('no step is blamed if its repair never makes a difference', () => {
    expect(results.flatMap(({ blamedInnocent }) => blamedInnocent)).toEqual([])
  })

  test('a search takes 35 forks at most on average without knowing that forks are deterministic', () => {
    expect(sumUp(results).forksMean).toBeLessThanOrEqual(FORKS_MEAN_MAX)
  })

  test('a search that knows that forks are deterministic finds the same with fewer forks', async () => {
    const told = await searchTables(runs, { isDeterministic: true })
    expect(sumUp(told)).toMatchObject({ repairedByCauses: 65, smallest: 65, innocent: 0 })
    expect(sumUp(told).forksMean).toBeLessThanOrEqual(20)
  })

  test('a prior that suspects the wrong step costs some forks, and changes nothing that is found', async () => {
    const suspectFirst = ({ n_messages: count }: TableRun) =>
      Array.from({ length: count }, (_, step) => (step === 0 ? 0.9 : 0.1 / (count - 1)))
    const misled = await searchTables(runs, { priorOf: suspectFirst })
    const causesOf = (each: readonly TableResult[]) =>
      each.map(({ findings }) => findings.causes.map(({ steps }) => steps))
    expect(causesOf(misled)).toEqual(causesOf(results))
    expect(sumUp(misled).forksMean).toBeLessThanOrEqual(FORKS_MEAN_MAX)
  })

  test('testing one step at a time finds nothing if two must be repaired, and takes twice the forks', async () => {
    const found = await Promise.all(usableRuns(runs).map(searchOneByOne))
    expect(found.filter((run) => run.found.length > 0)).toHaveLength(58)
    const forks = found.reduce((sum, run) => sum + run.forks, 0) / found.length
    expect(forks).toBeGreaterThan(2 * sumUp(results).forksMean)
  })
})
