import { usageError, type Verb } from '@retake/runner/command-line'
import { planRerun } from '@retake/engine/plans'
import { changedFileLines, changedFiles, firstTouchOf } from '@retake/runner/agent'
import { CONTINUE_OPTIONS, continueVerb } from '@retake/runner/agent'

export default {
  arguments: '<run>',
  description: `Runs today's code against a recorded run. Requests that are on the tape get their
recorded answers at no cost; only the others are sent. Log lines, clock reads and random values may
change. Project files are read from disk. The result is recorded as a branch of the old run; files
that it writes go to a separate folder (\`retake branches --files\`).`,
  options: {
    '--from <step>':
      'serve all steps before this one, even if their requests differ, and go live from there',
    '--ignore <what>': 'ignore a difference: `system` serves requests with another system prompt',
    '--live-after-change': 'send everything after the first difference live',
    ...CONTINUE_OPTIONS,
  },
  examples: [
    'retake rerun last',
    'retake rerun last --from 6',
    'retake rerun last --ignore system',
    'retake rerun last --env OPENAI_API_KEY=$OTHER_KEY',
  ],
  stdoutIsAgents: true,
  run(options, [name = '']) {
    const tape = options.openRun(name)
    const from = options.text('from')
    const ignored = options.text('ignore')
    if (ignored !== undefined && ignored !== 'system')
      throw usageError(`--ignore ${ignored} is unknown.`, 'Use --ignore system.')
    const liveAfterChange = options.flag('live-after-change')
    if (from !== undefined && (ignored !== undefined || liveAfterChange))
      throw usageError(
        `--from cannot be combined with --${ignored === undefined ? 'live-after-change' : 'ignore'}.`,
        '--from pins every step before it and sends the others live.',
      )
    const changed = changedFiles(tape)
    for (const line of changedFileLines(changed, 'read from disk'))
      process.stderr.write(`retake: ${line}\n`)
    const until = firstTouchOf(tape, changed)
    const plan = planRerun(tape, {
      liveAfterChange,
      ignoresSystem: ignored === 'system',
      ...(from !== undefined && { from }),
      ...(until !== undefined && { until }),
    })
    return continueVerb(tape, plan, 'rerun', options)
  },
} satisfies Verb
