import { type Verb, NODE_PROGRAM_OPTIONS } from '@retake/runner/command-line'
import { statSync } from 'node:fs'
import { fromHere, printJson } from '@retake/runner/terminal'
import { explainingDivergence, withProbe } from '@retake/runner/debug'
import { captureStates, writeStates } from '@retake/runner/debug'
import { viewRun } from '@retake/runner/runs'
import { codeToShow } from '@retake/runner/sources'
import { plural } from '@retake/tape/present'

export default {
  arguments: '<run>',
  description: `Replays the program offline and captures the state after every step: the line of
your code that runs next, the stack and the variables. The states are stored in a file beside the
tape, with .state appended to its name. \`retake show <run> --step N --state\` prints a state and
what changed since the previous step.`,
  options: {
    '--every <k>': 'capture only steps k, 2k, 3k …, and the last one',
    ...NODE_PROGRAM_OPTIONS,
    '--json': 'print the file and the number of states as JSON',
  },
  examples: ['retake debug snapshot last', 'retake debug snapshot last --every 10'],
  async run(options, [name = '']) {
    const every = options.number('every', { least: 1 }) ?? 1
    const json = options.json
    const tape = options.openRun(name)
    using code = codeToShow(tape)
    return await withProbe(tape, { nodeArgs: options.texts('node-arg'), code }, (probe) =>
      explainingDivergence(tape, json, async () => {
        const view = viewRun(tape)
        const states = await captureStates(probe, view, every, code)
        const file = writeStates(tape, states)
        const bytes = statSync(file).size
        const count = states.length
        if (json) printJson({ run: tape.run.id, file, states: count, bytes })
        else {
          const of = plural(view.recordedSteps.length, 'step')
          console.log(`${plural(count, 'state')} of ${of} in ${fromHere(file)}`)
        }
        return 0
      }),
    )
  },
} satisfies Verb
