/** An agent that fails for a reason that is known: `node agent.mjs "two together"`. */
import { tool } from '@retake/engine'
import { FAULTS } from './faults.mjs'

const { steps, faulty, fails } = FAULTS[process.argv[2]]

const values = []
for (let step = 0; step < steps; step++) {
  // As injected; a fork that leaves the step free asks the simulator instead.
  const work = tool(`step_${step}`, async () => ({ fault: faulty.includes(step) ? 1 : 0 }))
  const { fault } = await work({ step, before: [...values] })
  values.push(fault)
}
console.log(fails(values) ? 'FAILED' : 'PASSED', values.join(''))
