import { recordingPorts } from '../session-ports.js'
import { statSync, unlinkSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Durability,
  fromWire,
  type RecordedCode,
  type RunDetails,
  TapeError,
  toWire,
} from '@retake/tape/format'
import { TapeWriter } from '@retake/tape/node'
import { hostFacts } from '../boundaries/host-facts.js'
import { install } from '../boundaries/install.js'
import { closestName } from '../closest-name.js'
import { identifySession } from '../runs/run-identity.js'
import { surroundingsOf } from '../environment.js'
import { errors } from '../errors.js'
import { INPUT_PROOF, proofOf } from '../secrets/machine-key.js'
import { natives } from '../kernel/natives.js'
import { runUntilReturn } from './run-to-end.js'
import { isTag, newRunId, RUN_FILE } from '../runs/run-id.js'
import { prepareRunsFolder } from '../runs/runs-folder.js'
import { currentSession, outsideRuns } from '../kernel/scope.js'
import { isRedactRule, type RedactRule } from '../secrets/redaction-rules.js'
import { redactionDetails } from '../secrets/redacted-tape.js'
import { type Redactor, redactorOf } from '../secrets/redactor.js'
import { SecretMask } from '../secrets/secrets.js'
import { LenientWriter } from './lenient-writer.js'
import { ownOrNewKey } from '../secrets/signing-key.js'
import { withProof } from '../runs/trusted-runs.js'
import type { EventWriter } from '../kernel/background-writer.js'
import { RecordSession, type RecordSessionOptions } from '../kernel/record-session.js'

export interface RecordOptions {
  /** Name of the run in lists. */
  readonly name: string
  /**
   * Argument of the agent. It is stored, so that the command line can call `entry` with it. The
   * agent gets a copy, as on replay. Functions and cycles in it are an error.
   */
  readonly input?: unknown
  /** Tags for `retake list --tag`; runs with the tag `pin` are never pruned. */
  readonly tags?: readonly string[]
  /**
   * Module and export that the command line calls to run the agent again: `src/agent.ts#handle`,
   * relative to the working directory, or a file URL. Without `#`, the default export. Not needed
   * for an agent registered with `defineAgent`.
   */
  readonly entry?: string
  /** Folder for the tape (default: `.retake/runs` in the working directory). */
  readonly dir?: string
  /** Path of the tape, which must not exist; its name without `.tape` is the id of the run. */
  readonly file?: string
  /** The project folder. With `root` of `replay`, paths on the tape work on other machines. */
  readonly root?: string
  /**
   * Failures that the tape survives while it is written. `machine` (default): a power cut;
   * everything is synced to disk before a request is sent, a tool runs or its result is returned.
   * `process`: only a killed process; nothing waits for the disk.
   */
  readonly durability?: Durability
  /**
   * Signs the seal with the key of this machine and user (`retake receipt keys`), and records the run so
   * that a receipt can disclose single steps (default: false).
   */
  readonly sign?: boolean
  /**
   * Personal data that is replaced by pseudonyms before anything is written: `email`, `phone`,
   * `card`, `iban`, `ip`, `id`, `names:<file>`, regular expressions, functions that return the
   * values in a text, and `content` for all messages. The values are sealed on the tape with the
   * key of this user.
   */
  readonly redact?: readonly RedactRule[]
  /**
   * `stop` (default): if the tape cannot be written, for example because the disk is full, the
   * agent gets the error. `continue`: the agent continues unrecorded, the tape ends early, and
   * `run.failure` says why.
   */
  readonly onError?: 'stop' | 'continue'
}

/** A recording. Its tape exists from the start of the run. */
export interface RecordedRun {
  readonly id: string
  readonly name: string
  readonly path: string
  /** With `onError: 'continue'`: why the tape is missing or incomplete. */
  readonly failure?: Error
}

export interface RecordResult<T> {
  readonly output: T
  readonly run: RecordedRun
  /**
   * Resolves when the tape is sealed. It is already resolved unless the output contains a stream:
   * then the run ends when the stream has been read, cancelled or dropped.
   */
  readonly done: Promise<void>
}

/**
 * Runs `agent` and records everything it touches on a new tape. Many runs can be recorded
 * concurrently in one process; calls never leak between runs. If `agent` throws, the tape is
 * finished and the error is rethrown.
 *
 * Resolves when `agent` returns. A `Response`, `ReadableStream`, `Readable` or async iterator in
 * the result is replaced by one of the same type, and everything caused by reading it belongs to
 * the run.
 *
 * `code`: that of `entry`, for the tape.
 */
export async function record<T, O extends RecordOptions>(
  options: O,
  agent: (input: O['input']) => T | Promise<T>,
  code?: RecordedCode,
): Promise<RecordResult<T>> {
  install()
  if (currentSession() !== undefined) throw errors.RUN_INSIDE_RUN()
  // Checked before anything is written, because JavaScript callers have no type checker.
  if (typeof options !== 'object' || options === null)
    throw errors.RECORD_OPTIONS_INVALID(`The options are ${describeValue(options)}, not an object.`)
  const given = options as Readonly<Record<string, unknown>>
  for (const [option, check] of Object.entries(CHECKS)) {
    const problem = check(given[option])
    if (problem !== undefined)
      throw errors.RECORD_OPTIONS_INVALID(
        `\`${option}\` is ${describeValue(given[option])}, ${problem}.`,
      )
  }
  if (given['dir'] !== undefined && given['file'] !== undefined)
    throw errors.RECORD_OPTIONS_INVALID('`dir` and `file` both say where the tape goes.')
  const unknown = Object.keys(options).find((key) => !(key in CHECKS))
  if (unknown !== undefined)
    throw errors.RECORD_OPTION_UNKNOWN(unknown, closestName(unknown, Object.keys(CHECKS)))

  const entry = entryOfAgent(options, agent)
  const wire = outsideRuns(() => {
    if (options.input === undefined) return undefined
    return toWire(options.input, {
      onLoss: (where, what) => {
        throw errors.RECORD_INPUT_INVALID(where, what)
      },
    })
  })
  const call = (): T | Promise<T> => agent(wire === undefined ? undefined : fromWire(wire))
  const opened = openOrContinue({ ...options, ...(entry !== undefined && { entry }) }, code, wire)
  const { run } = opened
  if (opened.session === undefined) return { output: await call(), run, done: Promise.resolve() }
  try {
    const { output, done } = await runUntilReturn(opened.session, call)
    return { output, run, done }
  } catch (error) {
    if (typeof error === 'object' && error !== null) failedRuns.set(error, run)
    throw error
  }
}

/** With `onError: 'continue'`, a run whose tape cannot be created has no session. */
function openOrContinue(
  options: RecordOptions,
  code: RecordedCode | undefined,
  wire: unknown,
): { readonly session?: RecordSession; readonly run: RecordedRun } {
  if (options.onError !== 'continue')
    return outsideRuns(() => openRecording(options, { code }, wire))
  const watch: { failure?: Error } = {}
  const onFailure = (failure: Error): void => {
    watch.failure = failure
    process.emitWarning(`The run ${options.name} continues unrecorded. ${failure.message}`, {
      type: 'RetakeWarning',
      code: 'RECORDING_STOPPED',
    })
  }
  const withFailure = (run: RecordedRun): RecordedRun =>
    Object.defineProperty({ ...run }, 'failure', { enumerable: true, get: () => watch.failure })
  try {
    const through = (writer: TapeWriter): EventWriter => new LenientWriter(writer, onFailure)
    const { session, run } = outsideRuns(() => openRecording(options, { through, code }, wire))
    return { session, run: withFailure(run) }
  } catch (error) {
    onFailure(error as Error)
    const id = newRunId()
    return { run: withFailure({ id, name: options.name, path: '' }) }
  }
}

const failedRuns = new WeakMap<object, RecordedRun>()

/** The recording that `record()` made of the run that threw this error. */
export const runOfError = (error: unknown): RecordedRun | undefined =>
  typeof error === 'object' && error !== null ? failedRuns.get(error) : undefined

const entries = new WeakMap<object, string>()

/** The module and export of an agent, if the command line can call it. */
export const entryOfAgent = (
  options: Pick<RecordOptions, 'entry'>,
  agent: (input: never) => unknown,
): string | undefined => options.entry ?? entries.get(agent)

/**
 * Registers the module and export of an agent, as `src/agent.ts#handle` or a file URL with the
 * export after `#`, and returns the agent. `record()` stores it as the `entry` of the agent's runs.
 */
export function defineAgent<F extends (input: never) => unknown>(entry: string, agent: F): F {
  const problem = entryProblem(entry)
  if (problem !== undefined) throw errors.RECORD_OPTIONS_INVALID(problem)
  entries.set(agent, entry)
  return agent
}

const CHECKS: {
  readonly [K in keyof Required<RecordOptions>]: (value: unknown) => string | undefined
} = {
  name: (name) =>
    typeof name === 'string' && name.trim() !== '' ? undefined : 'not the name of a run',
  input: () => undefined,
  tags: (tags) =>
    tags === undefined || (Array.isArray(tags) && tags.every(isTag))
      ? undefined
      : 'not a list of tags, which are words of letters, digits and . _ : / @ -',
  entry: (entry) => (entry === undefined ? undefined : entryProblem(entry)),
  dir: () => undefined,
  file: (file) =>
    file === undefined || (typeof file === 'string' && RUN_FILE.test(path.basename(file)))
      ? undefined
      : 'not the path of a tape; its name has letters, digits and . _ - and ends with .tape',
  root: () => undefined,
  durability: oneOf("'machine' or 'process'", 'machine', 'process'),
  sign: oneOf('true or false', true, false),
  redact: (redact) =>
    redact === undefined || (Array.isArray(redact) && redact.every(isRedactRule))
      ? undefined
      : 'not a list of names, expressions and functions',
  onError: oneOf("'stop' or 'continue'", 'stop', 'continue'),
}

function oneOf(names: string, ...allowed: unknown[]): (value: unknown) => string | undefined {
  return (value) => (value === undefined || allowed.includes(value) ? undefined : `not ${names}`)
}

function entryProblem(entry: unknown): string | undefined {
  return typeof entry === 'string' && /^[^#]+(#[\p{ID_Start}$_][\p{ID_Continue}$]*)?$/u.test(entry)
    ? undefined
    : "not a module and its export, such as 'src/agent.ts#handle'"
}

const describeValue = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : value === undefined ? 'missing' : typeof value

/** Ids consist of a second and a few letters, so runs that begin together may draw the same id. */
const DRAWS_MAX = 20

/** A new tape, and the session that writes it. `input` is a wire value. */
export function openRecording(
  options: RecordOptions,
  {
    through = (writer) => writer,
    redactor: ownRedactor,
    code,
    ...sessionOptions
  }: Pick<RecordSessionOptions, 'answers' | 'signingKey'> & {
    readonly redactor?: Redactor | undefined
    readonly code?: RecordedCode | undefined
    readonly through?: (writer: TapeWriter) => EventWriter
  } = {},
  input?: unknown,
): { session: RecordSession; run: RecordedRun } {
  const { name, file } = options
  const dir = runsFolder(file === undefined ? options.dir : path.dirname(file))
  for (let draw = 1; ; draw += 1) {
    const id = file === undefined ? newRunId() : path.basename(file, '.tape')
    const run = { id, name, path: path.join(dir, `${id}.tape`) }
    try {
      const signingKey =
        sessionOptions.signingKey ?? (options.sign ? ownOrNewKey('seal') : undefined)
      const redactor = ownRedactor ?? redactorOf(options.redact)
      const writer = through(
        createTape(run, options, { input, redactor, code, isSigned: signingKey !== undefined }),
      )
      const session = new RecordSession(writer, {
        ...sessionOptions,
        ...recordingPorts(redactor),
        signingKey,
      })
      identifySession(session, run)
      return { session, run }
    } catch (error) {
      if (error instanceof TapeError && error.code === 'TAPE_WRITE_FAILED') removeEmpty(run.path)
      const isTaken = error instanceof TapeError && error.code === 'TAPE_EXISTS'
      if (!isTaken || file !== undefined || draw >= DRAWS_MAX) throw error
    }
  }
}

/** Removes a tape without its first record, for example after a full disk, because it is useless. */
function removeEmpty(file: string): void {
  try {
    if (statSync(file).size === 0) unlinkSync(file)
  } catch {
    // The file was not created.
  }
}

function runsFolder(given: string | undefined): string {
  try {
    return prepareRunsFolder(given)
  } catch (error) {
    throw errors.RUNS_FOLDER_NOT_WRITABLE(path.resolve(given ?? '.retake'), error)
  }
}

function createTape(
  { id, name, path: file }: RecordedRun,
  { root, durability = 'machine', tags, entry }: RecordOptions,
  {
    input,
    redactor,
    code,
    isSigned,
  }: {
    readonly input: unknown
    readonly redactor: Redactor | undefined
    readonly code: RecordedCode | undefined
    readonly isSigned: boolean
  },
): TapeWriter {
  const details: RunDetails = {
    platform: `${process.platform} ${process.arch}`,
    cwd: process.cwd(),
    ...(root !== undefined && { root }),
    ...(tags !== undefined && tags.length > 0 && { tags: [...tags] }),
    ...(input !== undefined && maskedInput(input, redactor)),
    ...(redactor && { redaction: redactionDetails(redactor) }),
  }
  return TapeWriter.create(
    file,
    {
      type: 'run',
      id,
      name,
      startedAt: natives.dateNow(),
      scope: 'function',
      node: process.version,
      ...(isSigned && { receipts: true }),
      durability,
    },
    entry === undefined
      ? details
      : withProof({
          ...details,
          // Needed to call the function again in another process.
          entry: entry.startsWith('file:') ? fromFileUrl(entry) : entry,
          ...(code && { code }),
          execArgv: [...process.execArgv],
          env: surroundingsOf(natives.env),
          host: outsideRuns(hostFacts),
        }),
    { now: elapsed() },
  )
}

/** Relative to the working directory, so that it is found in another checkout. */
function fromFileUrl(entry: string): string {
  const { hash } = new URL(entry)
  const file = fileURLToPath(entry)
  return path.relative(process.cwd(), file) + decodeURIComponent(hash)
}

function maskedInput(wire: unknown, redactor: Redactor | undefined): RunDetails {
  const secrets = new SecretMask(redactor)
  secrets.addProcessEnvironment()
  const json = JSON.stringify(wire)
  const masked = secrets.said(json)
  if (masked === json) return { input: wire }
  const inputProof = proofOf(INPUT_PROOF, json, true)
  return {
    input: JSON.parse(masked) as unknown,
    ...(inputProof !== undefined && { inputProof }),
  }
}

/** Returns a function that returns the milliseconds since this call, to the microsecond. */
export function elapsed(): () => number {
  const start = natives.performanceNow()
  return () => Math.round((natives.performanceNow() - start) * 1000) / 1000
}
