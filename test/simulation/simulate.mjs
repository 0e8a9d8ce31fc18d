/**
 * `node test/simulation/simulate.mjs [--seed 1] [--cycles 1000] [--cycle 17] [--scenario fork]`
 * runs cycles of a seed, or a single one. Needs a build (`npx tsc -b`).
 */
import { parseArgs } from 'node:util'
import './build.mjs'

/** Taken before the machine is simulated. */
const realNow = performance.now.bind(performance)
const { cycleSeed, runCycle, warmUp } = await import('./cycle.mjs')

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    cycles: { type: 'string', default: '1000' },
    cycle: { type: 'string' },
    scenario: { type: 'string' },
  },
})
const only = values.cycle === undefined ? undefined : Number(values.cycle)
const counts = {}
const start = realNow()
let cycle = only ?? 0
try {
  await warmUp()
  for (const end = only === undefined ? Number(values.cycles) : only + 1; cycle < end; cycle += 1) {
    const scenario = await runCycle(cycleSeed(values.seed, cycle), values.scenario)
    counts[scenario] = (counts[scenario] ?? 0) + 1
  }
  const seconds = (realNow() - start) / 1000
  console.log(JSON.stringify({ seed: values.seed, cycles: cycle - (only ?? 0), seconds, counts }))
} catch (error) {
  console.error(error)
  console.error(
    `\nCycle ${cycle} failed. Repeat it:\n  node test/simulation/simulate.mjs --seed ${values.seed} --cycle ${cycle}`,
  )
  process.exitCode = 1
}
