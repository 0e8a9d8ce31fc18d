import { lookOf } from '../terminal/terminal.js'
import type { ContinuePlan } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { continueAgent } from './continue-agent.js'
import { continuedFacts, continuedLines } from './continued-lines.js'
import { FOUND, signalExitCode } from '../command-line/exit-codes.js'
import {
  DIR_OPTION,
  flag,
  NODE_OPTION,
  type OptionValues,
  texts,
  TRUST_OPTION,
  variables,
  type Verb,
} from '../command-line/verb.js'

/** Options of fork, rerun and resume. */
export const CONTINUE_OPTIONS: Verb['options'] = {
  '--env <NAME=value>...': 'set a variable that differs from the recording; repeatable',
  ...NODE_OPTION,
  ...TRUST_OPTION,
  ...DIR_OPTION,
  '--json': 'print the result as one line of JSON on stderr',
}

/** Executes a plan and prints its result; resolves with the exit code. */
export async function continueVerb(
  tape: Tape,
  plan: ContinuePlan,
  did: 'forked' | 'resumed' | 'rerun',
  values: OptionValues,
): Promise<number> {
  const continued = await continueAgent(tape, plan, {
    nodeArgs: texts(values, 'node-arg'),
    env: variables(values),
  })
  const look = lookOf(process.stderr)
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
