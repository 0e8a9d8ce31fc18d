/**
 * `node test/blame/scenarios/run-scenarios.mjs [letter…]`: blames the recorded scenarios through
 * real processes, and prints for each whether the planted cause was found. Fails if one is wrong.
 */
import { EXPECTED, judgeScenario } from './expected.mjs'
import { blameScenario, LETTERS } from './lab.mjs'

const letters = process.argv.slice(2)
const rows = []
console.log('| scenario | planted | judgement | forks | seconds |\n|---|---|---|---|---|')
for (const letter of letters.length > 0 ? letters : LETTERS) {
  const startedAt = performance.now()
  const row = judgeScenario(letter, await blameScenario(letter))
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  rows.push(row)
  const why = row.mistakes.length === 0 ? '' : `: ${row.mistakes.join('; ')}`
  console.log(
    `| ${letter} | ${EXPECTED[letter]?.what} | ${row.judgement}${why} | ${row.forks} | ${seconds} |`,
  )
}
const count = (judgement) => rows.filter((row) => row.judgement === judgement).length
const forks = rows.map((row) => row.forks)
const mean = forks.reduce((sum, each) => sum + each, 0) / forks.length
console.log(
  `\n${rows.length} scenarios: ${count('right')} right, ${count('cannot tell')} cannot tell, ${count('wrong')} wrong; ${mean.toFixed(1)} forks on average, ${Math.max(...forks)} at most`,
)
process.exitCode = count('wrong') === 0 ? 0 : 1
