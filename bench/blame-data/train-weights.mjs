/**
 * Learns weights from both halves of Who&When together:
 *
 *     node bench/blame-data/train-weights.mjs --data <folder>
 *
 * writes who-and-when-weights.mjs. Numbers only:
 * nothing of the runs gets into it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fitLogit } from './conditional-logit.mjs'
import { ALL, bestPenalty, prepare } from './nested-folds.mjs'
import { stepFeatures } from './step-features.mjs'
import { wasTrainedOn } from './training-half.mjs'
import { readWhoAndWhen } from './who-and-when.mjs'

const { values: options } = parseArgs({ options: { data: { type: 'string' } } })
const runs = options.data === undefined ? undefined : readWhoAndWhen(options.data)
if (runs === undefined) {
  console.error('Say where Who&When is: --data <folder that holds whowhen/>.')
  process.exit(2)
}
const cases = runs
  .filter(({ id }) => wasTrainedOn(id))
  .map((run) => ({ ...run, features: stepFeatures(run.steps) }))
const { names, choices } = prepare(cases).find(({ name }) => name === ALL)
const { penalty } = bestPenalty(choices, 1)
const weights = fitLogit(choices, penalty)
const lines = names
  .map((name, index) => [name, Number(weights[index].toFixed(3))])
  .filter(([, weight]) => weight !== 0)
  .map(([name, weight]) => `  ${name}: ${weight},`)
const count = (half) => cases.filter((run) => run.half === half).length
writeFileSync(
  join(import.meta.dirname, 'who-and-when-weights.mjs'),
  `/**
 * Learned from people's labels of ${count('AG')} algorithm-generated and ${count('HC')} hand-crafted runs of Who&When
 * (conditional logit, ridge ${penalty}; bench/blame-data/train-weights.mjs writes this file).
 * \`stepPrior\` ships the eight that are enough; these are for comparison (bench/notes/accuracy.md).
 */
export const WHO_AND_WHEN_WEIGHTS = {
${lines.join('\n')}
}
`,
)
