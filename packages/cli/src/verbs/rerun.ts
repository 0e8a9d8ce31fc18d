import { planRerun } from '@retake/engine'
import { openTape } from '@retake/tape/node'
import { CONTINUE_HELP, CONTINUE_OPTIONS, continueVerb } from '../agent/continue-verb.js'
import { wrongUsage } from '../errors/command-line.js'
import { RunStore } from '../runs/run-store.js'
import { text, type Verb } from '../command-line/verb.js'

export const rerun: Verb = {
  usage: '<run> [options]',
  help: `Serves every step that the code still asks for in the same way, at no cost. From
the first difference on it is live, and recorded as a branch of the old run.
Files that the branch writes go to a folder of their own; see \`retake files\`.

Options:
${CONTINUE_HELP}

Examples:
  retake rerun last
  retake rerun last --env OPENAI_API_KEY=$OTHER_KEY`,
  options: CONTINUE_OPTIONS,
  stdoutIsAgents: true,
  run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0)
      throw wrongUsage('rerun', 'Name one run to run again.', 'For example: retake rerun last.')
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    return continueVerb(tape, planRerun(tape), 'rerun', values)
  },
}
