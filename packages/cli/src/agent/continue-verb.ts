import type { ContinuePlan } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { continueAgent } from './continue-agent.js'
import { continuedFacts, continuedLines } from './continued-lines.js'
import { wrongUsage } from '../errors/command-line.js'
import { FOUND, signalExitCode } from '../command-line/exit-codes.js'
import { painter, widthOf } from '../terminal/terminal.js'
import { TRUST_OPTION } from './trust.js'
import { flag, type OptionValues, texts, type Verb } from '../command-line/verb.js'

/** Options of every verb that goes on from a tape. */
export const CONTINUE_OPTIONS: Verb['options'] = {
  ...TRUST_OPTION,
  env: { type: 'string', multiple: true },
  'node-arg': { type: 'string', multiple: true },
  dir: { type: 'string' },
}

/** Their help. */
export const CONTINUE_HELP = `  --env NAME=value   a variable that differs from the recorded one; repeatable
  --node-arg=<flag>  a flag for Node itself; may be repeated
  --trust            also start the program of a run from elsewhere
  --dir <folder>     where the tapes are (default: .retake/runs)
  --json             the result as one line of JSON, on stderr`

/** Carries a plan out and says what came of it; answers with the exit code. */
export async function continueVerb(
  tape: Tape,
  plan: ContinuePlan,
  did: 'forked' | 'resumed' | 'rerun',
  values: OptionValues,
): Promise<number> {
  const continued = await continueAgent(tape, plan, {
    nodeArgs: texts(values, 'node-arg'),
    env: readVariables(did, texts(values, 'env')),
  })
  const look = { paint: painter(process.stderr), width: widthOf(process.stderr) }
  const said = flag(values, 'json')
    ? JSON.stringify(resultJson(tape, continued))
    : continuedLines(tape, continued, did, look).join('\n')
  process.stderr.write(`${said}\n`)
  if (continued.divergences.length > 0) return FOUND
  return continued.signal ? signalExitCode(continued.signal) : continued.code
}

function resultJson(tape: Tape, continued: Awaited<ReturnType<typeof continueAgent>>): object {
  if (!continued.isLive)
    return { run: tape.run.id, identical: continued.divergences.length === 0, ...continued }
  const written = openTape(continued.tape)
  return {
    run: written.run.id,
    parent: written.run.parent,
    branch: written.details.branch,
    facts: continuedFacts(tape, continued, written),
    ...continued,
  }
}

function readVariables(did: string, given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf('=')
      if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
      throw wrongUsage(
        VERBS[did] ?? did,
        `"${text}" sets no variable.`,
        'Write it as --env NAME=value.',
      )
    }),
  )
}

const VERBS: Readonly<Record<string, string>> = {
  forked: 'fork',
  resumed: 'resume',
  rerun: 'rerun',
}
