import { statSync } from 'node:fs'
import path from 'node:path'
import type { Tape } from '@retake/tape'
import { wrongUsage } from '../errors/command-line.js'
import { judgeBounded } from './bounded.js'
import type { Check, WrongOracle } from './check.js'
import { commandCheck } from './command-check.js'
import { exitCheck } from './exit-check.js'
import { functionCheck } from './function-check.js'
import type { FunctionPlace } from './function-threads.js'
import { Agreement } from './judge/agreement.js'
import { judgeCheck } from './judge/judge-check.js'
import type { JudgeOptions } from './judge/judge-options.js'
import { taskOf } from './judge/task-of.js'
import { jsonCheck } from './json-check.js'
import { negated } from './negated.js'
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
  readonly judge?: JudgeOptions
  /** Where files are looked for; the working directory unless set. */
  readonly folder?: string
}

/** Text as `--oracle` takes it, or a function in a configuration. */
export type OracleSource = string | FunctionPlace

/** Reads an oracle; throws when it is none, before anything was run. */
export async function makeOracle(source: OracleSource, options: OracleOptions): Promise<Oracle> {
  const wrong: WrongOracle = (what, why) => wrongUsage(options.verb, what, why)
  const isText = typeof source === 'string'
  const text = isText
    ? source.trim()
    : `${source.member.join('.')} of ${path.basename(source.file)}`
  const check = isText ? await checkOf(text, options, wrong) : await functionCheck(source, wrong)
  const { timeoutMs, recorded } = options
  const bounds = {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(recorded && { recorded: readOutcome(recorded) }),
  }
  const agreement = new Agreement()
  const ask = async (...[outcome, signal]: Parameters<Oracle>): Promise<Judgement> => {
    const judgement = await judgeBounded(check, outcome, signal, bounds)
    agreement.add(judgement)
    return judgement
  }
  return Object.assign(ask, { text, key: JSON.stringify([text, check.key ?? '']), agreement })
}

async function checkOf(text: string, options: OracleOptions, wrong: WrongOracle): Promise<Check> {
  const [, form = '', rest = ''] = /^(not|exit|stdout|json|cmd|judge):(.*)$/s.exec(text) ?? []
  switch (form) {
    case 'not':
      return negated(await checkOf(rest.trim(), options, wrong))
    case 'exit':
      return exitCheck(rest, wrong)
    case 'stdout':
      return stdoutCheck(rest, wrong)
    case 'json':
      return jsonCheck(rest, wrong)
    case 'cmd':
      return commandCheck(rest, wrong)
    case 'judge':
      return judgeCheck(rest, judgeContext(options), wrong)
    default:
      return fileOf(text, options, wrong) ?? commandCheck(text, wrong)
  }
}

function judgeContext({ judge = {}, recorded }: OracleOptions): Parameters<typeof judgeCheck>[1] {
  const task = recorded && taskOf(recorded)
  return { judge, ...(task !== undefined && { task }) }
}

/** A file of code is loaded and asked; what it is called with is no command. */
function fileOf(
  text: string,
  { folder = process.cwd() }: OracleOptions,
  wrong: WrongOracle,
): Promise<Check> | undefined {
  if (!/\.[cm]?[jt]s$/.test(text)) return undefined
  const file = path.resolve(folder, text)
  if (statSync(file, { throwIfNoEntry: false })?.isFile())
    return functionCheck({ file, member: [] }, wrong)
  if (/\s/.test(text)) return undefined
  throw wrong(`There is no file ${text}.`, `It was looked for from ${folder}.`)
}
