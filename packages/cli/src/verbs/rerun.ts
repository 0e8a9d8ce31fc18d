import type { Verb } from '../command-line/verb.js'
import { planRerun } from '@retake/engine'
import { CONTINUE_OPTIONS, continueVerb } from '../agent/continue-agent.js'

export default {
  arguments: '<run>',
  description: `Serves every request that the code still makes in the same way from the tape, at no cost.
From the first difference on it is live, and recorded as a branch of the old run. Files that the
branch writes go to a folder of their own; see \`retake files\`.`,
  options: CONTINUE_OPTIONS,
  examples: ['retake rerun last', 'retake rerun last --env OPENAI_API_KEY=$OTHER_KEY'],
  stdoutIsAgents: true,
  run(options, [name = '']) {
    const tape = options.openRun(name)
    return continueVerb(tape, planRerun(tape), 'rerun', options)
  },
} satisfies Verb
