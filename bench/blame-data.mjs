/**
 * Blame on labelled failures of real agents:
 *
 *     npm run bench:blame-data -- --data <folder>
 *     … --only steps|tables|saving    one part
 *     … --seeds 5                     how often folds are dealt
 *     … --json                        machine-readable
 *
 * `steps`: how often the offline prior names the step that a person named, in
 * Who&When. `tables`: the search on coalition tables. `saving`: how many forks a
 * prior saves. The folder holds `whowhen/`, `agentrx/` and, unless the tables of
 * this repository shall do, `tau_coalition_tables.json`. The runs are not ours to
 * hand on: nothing of them is in this repository, and this prints figures only.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { savingOnLabels, savingOnModels, savingOnTables } from './blame-data/prior-saving.mjs'
import { printReport } from './blame-data/print-report.mjs'
import { compareLabels } from './blame-data/second-labels.mjs'
import { measureStepAccuracy } from './blame-data/step-accuracy.mjs'
import { usableRuns } from './blame-data/table-forks.mjs'
import { searchOneByOne, searchTables, sumUp } from './blame-data/table-search.mjs'
import { readSecondLabels, readWhoAndWhen } from './blame-data/who-and-when.mjs'

const MODELS = 1000

const { values: options } = parseArgs({
  options: {
    data: { type: 'string' },
    only: { type: 'string' },
    seeds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
})

const runs = options.data === undefined ? undefined : readWhoAndWhen(options.data)
const wants = (part) => options.only === undefined || options.only === part
if (runs === undefined && options.only !== 'tables') {
  const where =
    options.data === undefined ? 'No folder was given' : `No whowhen/ in ${options.data}`
  console.error(
    `${where}: say with --data where the labelled runs are; they are not part of this repository.`,
  )
  process.exit(2)
}

const report = {}
if (wants('steps') || wants('saving')) {
  console.error('ranking steps with nested folds; this takes some minutes …')
  const seeds = Array.from({ length: Number(options.seeds) }, (_, index) => index + 1)
  const { rankings, ...accuracy } = measureStepAccuracy(runs, wants('steps') ? seeds : [1])
  if (wants('steps')) {
    report.steps = accuracy
    const second = readSecondLabels(options.data)
    if (second !== undefined) report.secondLabels = compareLabels(runs, second)
  }
  if (wants('saving')) report.saving = { labels: await savingOnLabels(runs, rankings) }
}
const tables = readTables()
if (wants('tables')) report.tables = await measureTables(tables)
if (wants('saving')) {
  console.error('searching with and without priors …')
  report.saving.tables = await savingOnTables(tables)
  report.saving.models = []
  for (const noise of ['deterministic', 'noisy']) {
    report.saving.models.push({ noise, rows: await savingOnModels(noise, MODELS) })
  }
}
console.log(options.json ? JSON.stringify(report, null, 2) : printReport(report))

function readTables() {
  const given = join(options.data ?? '', 'tau_coalition_tables.json')
  const own = join(import.meta.dirname, '../test/golden/blame/tau-coalition-tables.json')
  return JSON.parse(readFileSync(existsSync(given) ? given : own, 'utf8')).runs
}

async function measureTables(tables) {
  const oneByOne = await Promise.all(usableRuns(tables).map(searchOneByOne))
  return {
    search: sumUp(await searchTables(tables)),
    told: sumUp(await searchTables(tables, { isDeterministic: true })),
    oneByOne: {
      found: oneByOne.filter(({ found }) => found.length > 0).length,
      forksMean: oneByOne.reduce((sum, { forks }) => sum + forks, 0) / oneByOne.length,
    },
  }
}
