import type { Tape } from '@retake/tape'
import { wrongUsage } from '../errors.js'
import { judgeBounded } from './bounded.js'
import type { Check, WrongOracle } from './check.js'
import { commandCheck } from './command-check.js'
import { exitCheck } from './exit-check.js'
import { jsonCheck } from './json-check.js'
import type { Judgement, Oracle } from './oracle.js'
import { readOutcome } from './read-outcome.js'
import { stdoutCheck } from './stdout-check.js'

export interface OracleOptions {
  /** The command that asks, for messages. */
  readonly verb: string
  /** The recorded run. With it, a run that ends in an error which this one did not have is `undefined`. */
  readonly recorded?: Tape
  /** Longest time for one judgement; 30 seconds unless set, for a judge 2 minutes. */
  readonly timeoutMs?: number
}

/** What `--oracle` takes, in a line for help. */
export const ORACLE_FORMS =
  'exit:0, stdout:/regex/, stdout:text, json:path=value, a command, a file'

/** Reads an oracle; throws when it is none, before anything was run. */
export async function makeOracle(text: string, options: OracleOptions): Promise<Oracle> {
  const wrong: WrongOracle = (what, why) => wrongUsage(options.verb, what, why)
  const check = await checkOf(text.trim(), options, wrong)
  const bounds = {
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    ...(options.recorded && { recorded: readOutcome(options.recorded) }),
  }
  const ask = (...[outcome, signal]: Parameters<Oracle>): Promise<Judgement> =>
    judgeBounded(check, outcome, signal, bounds)
  return Object.assign(ask, { text, key: JSON.stringify([text.trim(), check.key ?? '']) })
}

async function checkOf(text: string, options: OracleOptions, wrong: WrongOracle): Promise<Check> {
  const [, form = '', rest = ''] = /^(not|exit|stdout|json|cmd):(.*)$/s.exec(text) ?? []
  switch (form) {
    case 'not':
      return negated(await checkOf(rest, options, wrong))
    case 'exit':
      return exitCheck(rest, wrong)
    case 'stdout':
      return stdoutCheck(rest, wrong)
    case 'json':
      return jsonCheck(rest, wrong)
    case 'cmd':
      return commandCheck(rest, wrong)
    default:
      return commandCheck(text, wrong)
  }
}

/** What passes fails, and the other way round; what cannot be told stays so. */
const negated = (check: Check): Check => ({
  ...check,
  async judge(outcome, signal) {
    const judgement = await check.judge(outcome, signal)
    const { verdict } = judgement
    return { ...judgement, verdict: verdict === 'undefined' ? verdict : OTHER[verdict] }
  },
})

const OTHER = { pass: 'fail', fail: 'pass' } as const
