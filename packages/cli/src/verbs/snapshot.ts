import { statSync } from 'node:fs'
import { openTape } from '@retake/tape/node'
import { captureStates } from '../capture-states.js'
import { wrongUsage } from '../errors/command-line.js'
import { plural } from '../facts.js'
import { fromHere } from '../from-here.js'
import { explainingDivergence } from '../look-at-step.js'
import { RunStore } from '../run-store.js'
import { writeStates } from '../state-file.js'
import { TRUST_OPTION } from '../trust.js'
import { text, flag, texts } from '../verb.js'
import type { Verb } from '../verb.js'
import { viewRun } from '../view-run.js'
import { withProbe } from '../with-probe.js'

export const snapshot: Verb = {
  usage: '<run> [--every k]',
  help: `Runs the recorded program again, offline, and writes down at every step which
line of your code ran when the answer had come, the stack and the variables.
The file stands beside the tape, with .state after its name; recording costs
nothing for it. \`retake show <run> --step N --state\` prints a state and what
changed since the step before.

Options:
  --every <k>        only steps k, 2k, 3k …, and the last one
  --node-arg=<flag>  a flag for Node itself; may be repeated
  --trust            also start the program of a run from elsewhere
  --dir <folder>     where the tapes are (default: .retake/runs)
  --json             where the states are, and how many, as JSON

Examples:
  retake snapshot last
  retake snapshot last --every 10`,
  options: {
    ...TRUST_OPTION,
    every: { type: 'string' },
    dir: { type: 'string' },
    'node-arg': { type: 'string', multiple: true },
  },
  async run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0) {
      const why = 'For example: retake snapshot last.'
      throw wrongUsage('snapshot', 'Name one run to capture.', why)
    }
    const every = Number(text(values, 'every') ?? '1')
    if (!Number.isInteger(every) || every < 1) {
      const why = '--every 10 captures every tenth step.'
      throw wrongUsage('snapshot', `"${text(values, 'every')}" is not a number of steps.`, why)
    }
    const json = flag(values, 'json')
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    return withProbe(tape, { nodeArgs: texts(values, 'node-arg') }, (probe) =>
      explainingDivergence(tape, json, async () => {
        const view = viewRun(tape)
        const states = await captureStates(probe, view, every)
        const file = writeStates(tape, states)
        const bytes = statSync(file).size
        const count = states.length
        if (json) console.log(JSON.stringify({ run: tape.run.id, file, states: count, bytes }))
        else {
          const of = plural(view.recordedSteps.length, 'step')
          console.log(`${plural(count, 'state')} of ${of} in ${fromHere(file)}`)
        }
        return 0
      }),
    )
  },
}
