import { type Options, SECONDS, usageError, type Verb } from '../command-line/verb.js'
import { statSync } from 'node:fs'
import path from 'node:path'
import { clipText, getPath, readPath, type Tape } from '@retake/tape'
import {
  undecided,
  type Check,
  judged,
  type Judgement,
  type Oracle,
  readOutcome,
  type RunOutcome,
  type Verdict,
  type WrongOracle,
} from './oracle.js'
import { functionCheck, type FunctionLocation } from './function-threads.js'
import { Agreement, judgeCheck, type JudgeOptions, taskOf } from './judge.js'
import { RetakeError } from '@retake/engine'
import { hashOfCode } from '../agent/source-code.js'
import { runCommand } from '../agent/run-command.js'
import { project } from '../config/define-config.js'
import { isDeepStrictEqual } from 'node:util'

/**
 * `json:<path>=<json>` passes if that is the value, `json:<path>` if there is one
 * that is not empty: not null, false, 0, "" or an empty list. It looks into what a
 * function returned, else into stdout, else into its last line that is JSON.
 */
function jsonCheck(text: string, wrong: WrongOracle): Check {
  const { path, wanted } = parse(text, wrong)
  return {
    prepare: () => (outcome) => {
      const document = documentOf(outcome)
      if (document === undefined) return undecided('stdout is not JSON')
      const found = at(document.value, path)
      if (found === undefined) return undecided(`the JSON has no ${path}`)
      const is = `${path} is ${shortened(found.value)}`
      if (wanted === undefined) return judged(!isEmpty(found.value), is)
      return judged(isDeepStrictEqual(found.value, wanted.value), is)
    },
  }
}

function parse(text: string, wrong: WrongOracle): { path: string; wanted?: { value: unknown } } {
  const example = `For example: --oracle 'json:order.status="refunded"'.`
  let rest: string
  try {
    rest = readPath(text).rest
  } catch {
    throw wrong(`"json:${text}" does not start with a path.`, example)
  }
  const path = text.slice(0, text.length - rest.length)
  if (rest === '') return { path }
  try {
    if (rest.startsWith('=')) return { path, wanted: { value: JSON.parse(rest.slice(1)) } }
  } catch {
    throw wrong(`"${clipText(rest.slice(1), SHOWN_MAX)}" is not JSON.`, example)
  }
  throw wrong(`"json:${text}" does not compare with =.`, example)
}

/** The JSON that a run came to, if it came to some. */
function documentOf({ stdout, result }: RunOutcome): { readonly value: unknown } | undefined {
  if (result !== undefined) return { value: result }
  const whole = parseJson(stdout)
  if (whole !== undefined) return whole
  const lines = stdout.trimEnd().split('\n')
  for (let index = lines.length - 1; index >= 0; index--) {
    const found = parseJson(lines[index] ?? '')
    // A number or a word alone on a line is more likely prose.
    if (found !== undefined && typeof found.value === 'object' && found.value !== null) return found
  }
  return undefined
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

function at(document: unknown, path: string): { readonly value: unknown } | undefined {
  try {
    return { value: getPath(document, path) }
  } catch {
    return undefined
  }
}

const isEmpty = (value: unknown): boolean => (Array.isArray(value) ? value.length === 0 : !value)

const shortened = (value: unknown): string =>
  clipText(JSON.stringify(value) ?? 'nothing', SHOWN_MAX)

/** Options of every command with an oracle. */
export const ORACLE_OPTIONS: Verb['options'] = {
  '--oracle <check>':
    'what passing means: exit:0, stdout:/regex/, json:path=value, a file, a shell command that gets stdout on stdin (exit code 0: pass, 125: undecided), or judge:prompt; not: before it negates it; see `retake docs oracles`',
  '--oracle-timeout <s>': 'maximum time for one judgement (default: 30, for a judge 120)',
  '--judge-url <url>': 'address of the model for judge:…',
  '--judge-model <name>': 'name of the model for judge:…',
}

/**
 * The oracle that `--oracle` names, with the options beside it; `config` names that of
 * the project. Without one, `otherwise`. `undefined` when there is neither.
 */
export async function givenOracle(
  options: Options,
  recorded?: Tape,
  otherwise?: OracleSource,
): Promise<Oracle | undefined> {
  const given = options.text('oracle')
  const { folder } = project()
  const isProjects = given === undefined || given === 'config'
  const source = given === 'config' ? projectOracle() : (given ?? otherwise)
  if (source === undefined) return undefined
  const seconds = options.number('oracle-timeout', SECONDS)
  return makeOracle(source, {
    ...(recorded && { recorded }),
    ...(seconds !== undefined && { timeoutMs: 1000 * seconds }),
    judge: judgeOf(options),
    ...(isProjects && folder !== undefined && { folder }),
  })
}

function projectOracle(): OracleSource {
  const { oracle } = project()
  if (oracle !== undefined) return oracle
  throw usageError('The project has no oracle.', 'Set `oracle` in retake.config.ts.')
}

function judgeOf(options: Options): NonNullable<OracleOptions['judge']> {
  const url = options.text('judge-url')
  const model = options.text('judge-model')
  // A key goes only where the configuration that names it says.
  const configured = project().judge ?? {}
  const { apiKeyEnv: _, ...keyless } = configured
  return {
    ...(url === undefined || url === configured.url ? configured : keyless),
    ...(url !== undefined && { url }),
    ...(model !== undefined && { model }),
  }
}

const OPPOSITE = {
  pass: 'fail',
  fail: 'pass',
  undefined: 'undefined',
} as const satisfies Record<Verdict, Verdict>

/** `not:…`: swaps pass and fail; undecided stays undecided. */
const negated = (check: Check): Check => ({
  ...check,
  async prepare() {
    const judge = await check.prepare()
    return async (outcome, signal) => {
      const { verdict, votes, ...rest } = await judge(outcome, signal)
      return {
        ...rest,
        verdict: OPPOSITE[verdict],
        ...(votes && { votes: votes.map((vote) => OPPOSITE[vote]) }),
      }
    }
  },
})

/** Exit code that means "cannot be tested" to `git bisect run`. */
const UNDECIDED = 125

/** Exit codes of a shell that cannot run a command: not a judgement. */
const CANNOT_RUN = new Set([126, 127])

const SHOWN_MAX = 60

/**
 * A shell command that gets the output on stdin: exit code 0 passes, 125 is undecided,
 * any other fails. It learns more from the variables RETAKE_EXIT_CODE, RETAKE_TAPE,
 * RETAKE_FILES and, when commits are tried, RETAKE_COMMIT.
 */
function commandCheck(command: string, wrong: WrongOracle): Check {
  if (command.trim() === '')
    throw wrong('The oracle is empty.', 'Use exit:0, stdout:/regex/ or a command.')
  const shown = clipText(command, SHOWN_MAX)
  return {
    key: hashOfCode(filesIn(command)),
    prepare: () => async (outcome, signal) => {
      const { stdout, stdoutBytes = Buffer.from(stdout), exitCode, tape, files, commit } = outcome
      const { code, stderr } = await runCommand(command, [], {
        cwd: process.cwd(),
        shell: true,
        input: stdoutBytes,
        signal,
        env: {
          ...process.env,
          ...(commit !== undefined && { RETAKE_COMMIT: commit }),
          ...(tape !== undefined && { RETAKE_TAPE: tape }),
          ...(files !== undefined && { RETAKE_FILES: files }),
          ...(exitCode !== undefined && { RETAKE_EXIT_CODE: String(exitCode) }),
        },
      })
      if (CANNOT_RUN.has(code) && !signal.aborted)
        throw wrong(
          `The oracle "${shown}" cannot be run.`,
          stderr.trim() || `The shell ended with exit code ${code}.`,
        )
      const reason = `${shown} ended with exit code ${code}`
      return code === UNDECIDED ? undecided(reason) : judged(code === 0, reason)
    },
  }
}

/** Words of a command that may be files it reads: another script under the same name is another oracle. */
const filesIn = (command: string): string[] =>
  command.replaceAll(/>{1,2}\s*[^\s;|&]+/g, ' ').split(/[\s"'`;|&()<=$]+/)

const TIMEOUT_MS = 30_000

interface Bounds {
  /** A check that takes longer is undecided; 30 seconds unless set. */
  readonly timeoutMs?: number
  /** Outcome of the recorded run. A new kind of error means that a fork broke. */
  readonly recorded?: RunOutcome
}

/**
 * Asks a check. Whatever it does, a judgement comes back: a run that broke, a check
 * that throws or hangs is `undefined`. Only mistakes of the user's, which would be the
 * same for every run, are thrown.
 */
async function judgeBounded(
  check: Check,
  outcome: RunOutcome,
  signal: AbortSignal,
  { timeoutMs = check.timeoutMs ?? TIMEOUT_MS, recorded }: Bounds,
): Promise<Judgement> {
  const broken = howItBroke(outcome, recorded, check.judgesBroken === true)
  if (broken !== undefined) return undecided(broken)
  const judge = await check.prepare()
  const late = new AbortController()
  const either = AbortSignal.any([signal, late.signal])
  const timer = setTimeout(() => late.abort(), timeoutMs)
  let giveUp = (): void => {}
  const stopped = new Promise<Judgement>((resolve) => {
    giveUp = () =>
      resolve(
        undecided(
          late.signal.aborted
            ? `the oracle was stopped after ${timeoutMs / 1000} s`
            : 'the oracle was stopped',
        ),
      )
  })
  either.addEventListener('abort', giveUp)
  if (either.aborted) giveUp()
  try {
    const answer = Promise.resolve().then(() => judge(outcome, either))
    // Once it is given up on, nobody waits for what it comes to.
    answer.catch(() => {})
    return await Promise.race([stopped, answer])
  } catch (error) {
    if (error instanceof RetakeError) throw error
    return undecided(`the oracle threw: ${messageOf(error)}`)
  } finally {
    clearTimeout(timer)
    either.removeEventListener('abort', giveUp)
  }
}

/** Why nothing can be said about a run that was killed, or that broke where the recorded one did not. */
function howItBroke(
  outcome: RunOutcome,
  recorded: RunOutcome | undefined,
  judgesBroken: boolean,
): string | undefined {
  const { ended, signal, error } = outcome
  const isLikeThen =
    recorded === undefined || (recorded.ended === ended && recorded.signal === signal)
  if (!ended && !(judgesBroken && isLikeThen))
    return signal === undefined ? 'the run did not end' : `the run was killed by ${signal}`
  if (recorded === undefined || error === undefined) return undefined
  if (recorded.error?.class === error.class) return undefined
  return `the run broke: ${error.class}: ${error.message.split('\n')[0]}`
}

const messageOf = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).split('\n')[0] ?? ''

export interface OracleOptions {
  /** The recorded run. With it, a run that ends in an error which this one did not have is `undefined`. */
  readonly recorded?: Tape
  /** Longest time for one judgement; 30 seconds unless set, for a judge 2 minutes. */
  readonly timeoutMs?: number
  readonly judge?: JudgeOptions
  /** Where files are looked for; the working directory unless set. */
  readonly folder?: string
}

/** Text as `--oracle` takes it, or a function in a configuration. */
export type OracleSource = string | FunctionLocation

/** Reads an oracle; throws when it is none, before anything was run. */
export async function makeOracle(
  source: OracleSource,
  options: OracleOptions = {},
): Promise<Oracle> {
  const isText = typeof source === 'string'
  const text = isText
    ? source.trim()
    : `${source.member.join('.')} of ${path.basename(source.file)}`
  const check = isText
    ? await checkOf(text, options, usageError)
    : await functionCheck(source, usageError)
  const { timeoutMs, recorded } = options
  const bounds = {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(recorded && { recorded: readOutcome(recorded) }),
  }
  const agreement = new Agreement()
  const judgeRun = async (...[outcome, signal]: Parameters<Oracle>): Promise<Judgement> => {
    const judgement = await judgeBounded(check, outcome, signal, bounds)
    agreement.add(judgement)
    return judgement
  }
  return Object.assign(judgeRun, { text, key: JSON.stringify([text, check.key ?? '']), agreement })
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

/** A file of code is loaded and called; it is not a command. */
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

/** `exit:0`: passes with this exit code. A run that was killed has none. */
function exitCheck(code: string, wrong: WrongOracle): Check {
  if (!/^\d{1,3}$/.test(code))
    throw wrong(`"exit:${code}" names no exit code.`, 'For example: --oracle exit:0.')
  return {
    judgesBroken: true,
    prepare:
      () =>
      ({ exitCode, signal }) =>
        judged(
          exitCode === Number(code),
          exitCode !== undefined
            ? `exit code ${exitCode}`
            : signal === undefined
              ? 'it did not end'
              : `killed by ${signal}`,
        ),
  }
}

/** `stdout:/regex/flags` or `stdout:some text`: passes if the output matches or contains it. */
function stdoutCheck(wanted: string, wrong: WrongOracle): Check {
  if (wanted === '')
    throw wrong('"stdout:" names no text.', "For example: --oracle 'stdout:order refunded'.")
  if (!wanted.startsWith('/')) {
    const shown = JSON.stringify(clipText(wanted, SHOWN_MAX))
    return {
      prepare:
        () =>
        ({ stdout }) => {
          const isFound = stdout.includes(wanted)
          return judged(isFound, `stdout ${isFound ? 'contains' : 'does not contain'} ${shown}`)
        },
    }
  }
  const pattern = patternOf(wanted)
  if (pattern === undefined)
    throw wrong(
      `"stdout:${wanted}" is not a regular expression.`,
      "For example: --oracle 'stdout:/order \\d+ refunded/i'.",
    )
  return {
    prepare:
      () =>
      ({ stdout }) => {
        const matches = matchesText(pattern, stdout)
        return judged(
          matches,
          `stdout ${matches ? 'matches' : 'does not match'} ${String(pattern)}`,
        )
      },
  }
}

/**
 * `$` also matches before the final newline, as in grep, Perl and Python: nearly all
 * output ends with one, and JavaScript's `$` would match only behind it.
 */
function matchesText(pattern: RegExp, text: string): boolean {
  if (text.search(pattern) >= 0) return true
  return pattern.source.includes('$') && text.replace(/\r?\n$/, '').search(pattern) >= 0
}

function patternOf(text: string): RegExp | undefined {
  const parts = /^\/(.+)\/([a-z]*)$/s.exec(text)
  if (parts === null) return undefined
  try {
    return new RegExp(parts[1] ?? '', parts[2] ?? '')
  } catch {
    return undefined
  }
}
