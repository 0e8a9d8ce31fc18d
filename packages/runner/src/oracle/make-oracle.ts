import { Deadline } from '@retake/tape/format'
import { type Options, SECONDS, usageError, type Verb } from '../command-line/verb.js'
import { statSync } from 'node:fs'
import path from 'node:path'
import { clipText, errorName, getPath, readPath, type Tape, defined, attempt } from '@retake/tape'
import {
  Agreement,
  functionAnswer,
  undecided,
  type OracleCheck,
  judged,
  type Judgement,
  type Oracle,
  readOutcome,
} from './oracle.js'
import { expectedText } from './suggest-oracle.js'
import { functionCheck } from './function-threads.js'
import { judgeCheck, type JudgeOptions, taskOf } from './judge.js'
import { RetakeError } from '@retake/engine/errors'
import { hashOfCode } from '../sources/source-code.js'
import { runShellCommand } from '../agent/run-command.js'
import { project } from '../config/define-config.js'
import type { OracleSource, RunOutcome, Verdict } from '../config/oracle-source.js'
import { isDeepStrictEqual } from 'node:util'

export const ORACLE_OPTIONS: Verb['options'] = {
  '--oracle <check>':
    'check that decides pass or fail: exit:0, stdout:/regex/, json:path=value, a file, a shell command that gets stdout on stdin (exit code 0: pass, 125: undecided), or judge:prompt; the prefix not: negates it; see `retake docs oracles`',
  '--expect <text>': 'a simple oracle: the output must contain this text',
  '--oracle-timeout <s>': 'maximum time for one judgement (default: 30, for a judge 120)',
  '--judge-url <url>': 'address of the model for judge:…',
  '--judge-model <name>': 'name of the model for judge:…',
}

/** The check in the form of `--oracle`, even if given as `--expect`. */
export function oracleText(options: Options): string | undefined {
  const expected = options.text('expect')
  if (expected === undefined) return options.text('oracle')
  if (options.has('oracle'))
    throw usageError('--expect and --oracle both define a pass.', 'Give one of them.')
  return expectedText(expected)
}

/**
 * The oracle given by `--oracle` or `--expect`, with its options; `config` means the project's
 * oracle. Without these, `otherwise`.
 */
export async function givenOracle(
  options: Options,
  recorded?: Tape,
  otherwise?: OracleSource,
): Promise<Oracle | undefined> {
  const given = oracleText(options)
  const { folder, oracle, judge = {} } = project()
  if (given === 'config' && oracle === undefined)
    throw usageError('The project has no oracle.', 'Set `oracle` in retake.config.ts.')
  const source = given === 'config' ? oracle : (given ?? otherwise)
  if (source === undefined) return undefined
  const seconds = options.number('oracle-timeout', SECONDS)
  const url = options.text('judge-url')
  const model = options.text('judge-model')
  // A key is only sent to the address in the configuration that names it.
  const { apiKeyEnv: _, ...keyless } = judge
  return makeOracle(source, {
    recorded,
    timeoutMs: seconds === undefined ? undefined : 1000 * seconds,
    judge: {
      ...(url === undefined || url === judge.url ? judge : keyless),
      ...defined({ url, model }),
    },
    folder: given === undefined || given === 'config' ? folder : undefined,
  })
}

export interface OracleOptions {
  /** If set, a run with an error that this recorded run did not have is `undefined`. */
  readonly recorded?: Tape | undefined
  /** Time limit of one judgement (default: 30 seconds, for a judge 2 minutes). */
  readonly timeoutMs?: number | undefined
  readonly judge?: JudgeOptions
  /** Folder that relative paths refer to (default: the working directory). */
  readonly folder?: string | undefined
}

/** Parses an oracle; throws if it is invalid, before anything runs. */
export async function makeOracle(
  source: OracleSource,
  options: OracleOptions = {},
): Promise<Oracle> {
  const { text, check } = await checkFrom(source, options)
  const recorded = options.recorded && readOutcome(options.recorded)
  const agreement = new Agreement()
  const judgeRun = async (...[outcome, signal]: Parameters<Oracle>): Promise<Judgement> => {
    const broken = howItBroke(outcome, recorded, check.judgesBroken === true)
    const timeoutMs = options.timeoutMs ?? check.timeoutMs ?? TIMEOUT_MS
    const judgement =
      broken === undefined
        ? await judgeBounded(check, outcome, signal, timeoutMs)
        : undecided(broken)
    agreement.add(judgement)
    return judgement
  }
  return Object.assign(judgeRun, { text, key: JSON.stringify([text, check.key ?? '']), agreement })
}

async function checkFrom(
  source: OracleSource,
  options: OracleOptions,
): Promise<{ text: string; check: OracleCheck }> {
  if (typeof source === 'string') {
    const text = source.trim()
    return { text, check: await checkOf(text, options) }
  }
  if (typeof source === 'function')
    return {
      text: source.name === '' ? 'a function' : `${source.name}()`,
      check: {
        key: source.toString(),
        judge: async (outcome) => functionAnswer(await source(outcome)),
      },
    }
  const text = `${source.member.join('.')} of ${path.basename(source.file)}`
  return { text, check: await functionCheck(source) }
}

async function checkOf(text: string, options: OracleOptions): Promise<OracleCheck> {
  const [, form = '', rest = ''] = /^(not|exit|stdout|json|cmd|judge):(.*)$/s.exec(text) ?? []
  switch (form) {
    case 'not':
      return negated(await checkOf(rest.trim(), options))
    case 'exit':
      return exitCheck(rest)
    case 'stdout':
      return stdoutCheck(rest)
    case 'json':
      return jsonCheck(rest)
    case 'cmd':
      return commandCheck(rest)
    case 'judge':
      return judgeCheck(rest, options.judge ?? {}, options.recorded && taskOf(options.recorded))
    default:
      return fileCheck(text, options.folder ?? process.cwd()) ?? commandCheck(text)
  }
}

const TIMEOUT_MS = 30_000

/**
 * Runs a check and always returns a judgement: a check that throws or hangs is `undefined`. Throws
 * only for mistakes of the user, which would be the same for every run.
 */
async function judgeBounded(
  check: OracleCheck,
  outcome: RunOutcome,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<Judgement> {
  const judge = check.prepare ? await check.prepare() : check.judge
  using deadline = new Deadline({ ms: timeoutMs, signals: [signal] })
  let giveUp = (): void => {}
  const stopped = new Promise<Judgement>((resolve) => {
    giveUp = () => {
      const after = deadline.isPast ? ` after ${timeoutMs / 1000} s` : ''
      resolve(undecided(`the oracle was stopped${after}`))
    }
  })
  deadline.signal.addEventListener('abort', giveUp)
  if (deadline.signal.aborted) giveUp()
  try {
    const answer = Promise.resolve().then(() => judge(outcome, deadline.signal))
    // A late result is ignored.
    answer.catch(() => {})
    return await Promise.race([stopped, answer])
  } catch (error) {
    if (error instanceof RetakeError) throw error
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    return undecided(`the oracle threw: ${what.split('\n')[0]}`)
  } finally {
    deadline.signal.removeEventListener('abort', giveUp)
  }
}

/** Why there is no verdict on a run that was killed, or broke where the recorded run did not. */
function howItBroke(
  { ended, signal, error }: RunOutcome,
  recorded: RunOutcome | undefined,
  judgesBroken: boolean,
): string | undefined {
  const isLikeThen =
    recorded === undefined || (recorded.ended === ended && recorded.signal === signal)
  if (!ended && !(judgesBroken && isLikeThen))
    return signal === undefined ? 'the run did not end' : `the run was killed by ${signal}`
  if (recorded === undefined || error === undefined) return undefined
  if (recorded.error?.class === error.class) return undefined
  return `the run broke: ${errorName(error)}: ${error.message.split('\n')[0]}`
}

const OPPOSITE = {
  pass: 'fail',
  fail: 'pass',
  undefined: 'undefined',
} as const satisfies Record<Verdict, Verdict>

/** `not:…`: swaps pass and fail; undecided stays undecided. */
const negated = (check: OracleCheck): OracleCheck => {
  const swapped =
    (judge: OracleCheck['judge']): OracleCheck['judge'] =>
    async (outcome, signal) => {
      const { verdict, votes, ...rest } = await judge(outcome, signal)
      return {
        ...rest,
        verdict: OPPOSITE[verdict],
        ...(votes && { votes: votes.map((vote) => OPPOSITE[vote]) }),
      }
    }
  const { prepare } = check
  return {
    ...check,
    judge: swapped(check.judge),
    ...(prepare && { prepare: async () => swapped(await prepare()) }),
  }
}

/** `exit:0`: passes with this exit code. A run that was killed has none. */
function exitCheck(code: string): OracleCheck {
  if (!/^\d{1,3}$/.test(code))
    throw usageError(`"exit:${code}" is not an exit code.`, 'For example: --oracle exit:0.')
  return {
    judgesBroken: true,
    judge: ({ exitCode, signal }) => {
      const killed = signal === undefined ? 'it did not end' : `killed by ${signal}`
      const reason = exitCode === undefined ? killed : `exit code ${exitCode}`
      return judged(exitCode === Number(code), reason)
    },
  }
}

/** `stdout:/regex/flags` or `stdout:some text`: passes if the output matches or contains it. */
function stdoutCheck(wanted: string): OracleCheck {
  if (wanted === '')
    throw usageError('"stdout:" names no text.', "For example: --oracle 'stdout:order refunded'.")
  if (!wanted.startsWith('/')) {
    const shown = JSON.stringify(clipText(wanted, SHOWN_MAX))
    return {
      judge: ({ stdout }) => {
        const isFound = stdout.includes(wanted)
        return judged(isFound, `stdout ${isFound ? 'contains' : 'does not contain'} ${shown}`)
      },
    }
  }
  const pattern = patternOf(wanted)
  return {
    judge: ({ stdout }) => {
      // `$` also matches before the final newline, as in grep, Perl and Python: nearly all output
      // ends with one, and JavaScript's `$` would only match after it.
      const matches =
        stdout.search(pattern) >= 0 ||
        (pattern.source.includes('$') && stdout.replace(/\r?\n$/, '').search(pattern) >= 0)
      return judged(matches, `stdout ${matches ? 'matches' : 'does not match'} ${String(pattern)}`)
    },
  }
}

function patternOf(text: string): RegExp {
  const [, source, flags] = /^\/(.+)\/([a-z]*)$/s.exec(text) ?? []
  try {
    if (source !== undefined) return new RegExp(source, flags)
  } catch {
    // Refused below.
  }
  throw usageError(
    `"stdout:${text}" is not a regular expression.`,
    "For example: --oracle 'stdout:/order \\d+ refunded/i'.",
  )
}

const SHOWN_MAX = 60

/**
 * `json:<path>=<json>` passes if that is the value, `json:<path>` if the value is not empty, 0,
 * null or false. Looks in a function's return value, else in stdout, else in its last line of JSON.
 */
function jsonCheck(text: string): OracleCheck {
  const { path, wanted } = parseJsonCheck(text)
  return {
    judge: (outcome) => {
      const document = documentOf(outcome)
      if (document === undefined) return undecided('stdout is not JSON')
      const found = boxed(() => getPath(document.value, path))
      if (found === undefined) return undecided(`the JSON has no ${path}`)
      const { value } = found
      const isEmpty = Array.isArray(value) ? value.length === 0 : !value
      return judged(
        wanted === undefined ? !isEmpty : isDeepStrictEqual(value, wanted.value),
        `${path} is ${clipText(JSON.stringify(value) ?? 'nothing', SHOWN_MAX)}`,
      )
    },
  }
}

function parseJsonCheck(text: string): { path: string; wanted?: Found } {
  const example = `For example: --oracle 'json:order.status="refunded"'.`
  const read = boxed(() => readPath(text).rest)
  if (read === undefined) throw usageError(`"json:${text}" does not start with a path.`, example)
  const rest = read.value
  const path = text.slice(0, text.length - rest.length)
  if (rest === '') return { path }
  if (!rest.startsWith('=')) throw usageError(`"json:${text}" does not compare with =.`, example)
  const wanted = parseJson(rest.slice(1))
  if (wanted !== undefined) return { path, wanted }
  throw usageError(`"${clipText(rest.slice(1), SHOWN_MAX)}" is not JSON.`, example)
}

function documentOf({ stdout, result }: RunOutcome): Found | undefined {
  if (result !== undefined) return { value: result }
  const whole = parseJson(stdout)
  if (whole !== undefined) return whole
  for (const line of stdout.trimEnd().split('\n').toReversed()) {
    const found = parseJson(line)
    // A number or word alone on a line is more likely prose.
    if (typeof found?.value === 'object' && found.value !== null) return found
  }
  return undefined
}

interface Found<T = unknown> {
  readonly value: T
}

/** Boxes a value that may be undefined; returns undefined if `read` throws. */
const boxed = <T>(read: () => T): Found<T> | undefined => attempt(() => ({ value: read() }))

const parseJson = (text: string): Found | undefined => boxed(() => JSON.parse(text) as unknown)

/** Exit code that means "cannot be tested" to `git bisect run`. */
const UNDECIDED = 125

/** Exit codes of a shell that cannot run a command, which are not a verdict. */
const CANNOT_RUN = new Set([126, 127])

/**
 * A shell command that gets the output on stdin. Exit code 0 passes, 125 is undecided, others fail.
 * Variables: RETAKE_EXIT_CODE, RETAKE_TAPE and RETAKE_FILES.
 */
function commandCheck(command: string): OracleCheck {
  if (command.trim() === '')
    throw usageError('The oracle is empty.', 'Use exit:0, stdout:/regex/ or a command.')
  const shown = clipText(command, SHOWN_MAX)
  // Words that may be files the command reads: another script under the same name is another oracle.
  const files = command.replaceAll(/>{1,2}\s*[^\s;|&]+/g, ' ').split(/[\s"'`;|&()<=$]+/)
  return {
    key: hashOfCode(files),
    judge: async (outcome, signal) => {
      const { stdout, stdoutBytes = Buffer.from(stdout), exitCode, tape } = outcome
      const { code, stderr } = await runShellCommand(command, [], {
        cwd: process.cwd(),
        shell: true,
        input: stdoutBytes,
        signal,
        env: {
          ...process.env,
          ...defined({ RETAKE_TAPE: tape, RETAKE_FILES: outcome.files }),
          ...(exitCode !== undefined && { RETAKE_EXIT_CODE: String(exitCode) }),
        },
      })
      if (CANNOT_RUN.has(code) && !signal.aborted)
        throw usageError(
          `The oracle "${shown}" cannot be run.`,
          stderr.trim() || `The shell ended with exit code ${code}.`,
        )
      const reason = `${shown} ended with exit code ${code}`
      return code === UNDECIDED ? undecided(reason) : judged(code === 0, reason)
    },
  }
}

/** A code file is loaded and called, not run as a command. */
function fileCheck(text: string, folder: string): Promise<OracleCheck> | undefined {
  if (!/\.[cm]?[jt]s$/.test(text)) return undefined
  const file = path.resolve(folder, text)
  if (statSync(file, { throwIfNoEntry: false })?.isFile())
    return functionCheck({ file, member: [] })
  if (/\s/.test(text)) return undefined
  throw usageError(`There is no file ${text}.`, `Retake looked in ${folder}.`)
}
