import { PUBLISHED } from './published.mjs'
import { bounds, percent, textTable } from './text-table.mjs'

/** What `bench/blame-data.mjs` measured, for people. */
export function printReport({ steps, secondLabels, tables, saving }) {
  return [
    ...(steps === undefined ? [] : stepSections(steps)),
    ...(secondLabels === undefined ? [] : [secondSection(secondLabels)]),
    ...(tables === undefined ? [] : [tableSection(tables)]),
    ...(saving === undefined ? [] : savingSections(saving)),
  ].join('\n\n')
}

const SCORE_HEAD = ['', 'runs', 'step %', '95 %', 'agent %', 'top 3 %', 'questions']

const scoreLine = ({ name, runs, step, interval, agent, top3, questions }) => [
  name,
  String(runs),
  percent(step),
  bounds(interval),
  percent(agent),
  percent(top3),
  questions?.toFixed(2) ?? '',
]

const scoreSection = (title, rows) => `${title}\n${textTable(SCORE_HEAD, rows.map(scoreLine))}`

const HALF_NAMES = { AG: 'algorithm-generated (AG)', HC: 'hand-crafted (HC)' }

const stepSections = ({ halves, pooled, together, transfer, shipped }) => [
  ...halves.map(({ half, rows }) => scoreSection(`Who&When, ${HALF_NAMES[half]}`, rows)),
  scoreSection('Who&When, both, each ranked by what was learned in it', pooled),
  scoreSection('One set of weights for both', together),
  scoreSection('Other agents than it was trained on', transfer),
  scoreSection('As shipped', shipped),
  `Published, full set, step %\n${textTable(
    ['', 'both', 'AG', 'HC'],
    PUBLISHED.map(({ name, pooled: both = '', AG = '', HC = '' }) => [name, both, AG, HC]),
  )}`,
]

const secondSection = ({ runs, same, interval, within3 }) =>
  `Two people on the same ${runs} runs (HC): the same step in ${same}, ${percent(same / runs)} % ${bounds(interval)}; within three steps in ${within3}`

const TABLE_HEAD = ['', 'runs', 'repaired', 'smallest', 'innocent blamed', 'forks', 'most']

const tableLine = (name, row) => [
  name,
  String(row.runs),
  `${row.repairedByCauses} / ${row.repairedByTested}`,
  String(row.smallest),
  String(row.innocent),
  row.forksMean.toFixed(1),
  String(row.forksMost),
]

const tableSection = ({ search, told, oneByOne }) =>
  [
    `Coalition tables: ${search.runs} runs, ${search.needSeveral} of them need several steps repaired (repaired by all causes / by the tested repair)`,
    textTable(TABLE_HEAD, [
      tableLine('search', search),
      tableLine('search, told that a fork always comes to the same', told),
    ]),
    `one step at a time, 3 forks each: finds something in ${oneByOne.found} of ${search.runs}, ${oneByOne.forksMean.toFixed(1)} forks`,
  ].join('\n')

const savingSections = ({ labels, tables, models }) => [
  ...labels.map(({ half, noise, rows }) =>
    modelSection(`Forks if the label of ${half} runs were the cause, ${noise}`, rows),
  ),
  `Forks on coalition tables, by prior\n${textTable(
    TABLE_HEAD,
    tables.map((row) => tableLine(row.name, row)),
  )}`,
  ...models.map(({ noise, rows }) =>
    modelSection(`Forks on planted failures, ${noise}, by prior`, rows),
  ),
]

const modelSection = (title, rows) =>
  `${title}\n${textTable(
    ['', 'runs', 'exact', 'runs with false blame', 'forks', 'p95'],
    rows.map(({ name, runs, exact, falseBlameRuns, forksMean, forksP95 }) => [
      name,
      String(runs),
      exact.toFixed(3),
      falseBlameRuns.toFixed(3),
      forksMean.toFixed(1),
      String(forksP95),
    ]),
  )}`
