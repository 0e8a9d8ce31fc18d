import path from 'node:path'
import { type Durability, TapeError } from '@retake/tape/format'
import { TapeWriter } from '@retake/tape/node'
import { install } from './boundaries/install.js'
import { closestName } from './closest-name.js'
import { errors } from './errors.js'
import { natives } from './natives.js'
import { RECORDER_FLAGS } from './recorder-flags.js'
import { runUntilReturn } from './run-to-end.js'
import { newRunId } from './run-id.js'
import { prepareRunsFolder } from './runs-folder.js'
import { currentSession, outsideRuns } from './scope.js'
import type { EventWriter } from './sessions/background-writer.js'
import { RecordSession, type RecordSessionOptions } from './sessions/record-session.js'

export interface RecordOptions {
  /** What the run is called in lists. */
  readonly name: string
  /** Folder for the tape; `.retake/runs` under the working directory unless set. */
  readonly dir?: string
  /** The project's folder. With the one of `replay`, it makes paths on the tape hold on other machines. */
  readonly root?: string
  /**
   * Kind of crash that the tape survives while it is written. `machine` (default): a power cut; everything is
   * synced to disk before a request leaves, a tool runs or its result is shown. `process`: the
   * death of the process only; nothing waits for the disk.
   */
  readonly durability?: Durability
}

/** A recording. Its tape exists from the start of the run. */
export interface RecordedRun {
  readonly id: string
  readonly name: string
  /** Path of the tape. */
  readonly path: string
}

export interface RecordResult<T> {
  readonly output: T
  readonly run: RecordedRun
  /**
   * Resolves when the tape is sealed. That is the case already, unless the output
   * holds a stream: then the run ends when the stream has been read, cancelled or
   * dropped.
   */
  readonly done: Promise<void>
}

/**
 * Runs `agent` and records everything it touches on a new tape. Many recordings
 * can run at once in one process; each keeps to its own calls. When `agent`
 * throws, the tape is finished and the same error is thrown on.
 *
 * Resolves when `agent` returns. A `Response`, `ReadableStream`, `Readable` or async
 * iterator in what it returns is replaced by one of the same type, and everything
 * that reading it causes belongs to the run.
 */
export async function record<T>(
  options: RecordOptions,
  agent: () => T | Promise<T>,
): Promise<RecordResult<T>> {
  install()
  if (currentSession() !== undefined) throw errors.RUN_INSIDE_RUN()
  checkRecordOptions(options)
  const { session, run } = outsideRuns(() => openRecording(options))
  try {
    const { output, done } = await runUntilReturn(session, agent)
    return { output, run, done }
  } catch (error) {
    if (typeof error === 'object' && error !== null) failedRuns.set(error, run)
    throw error
  }
}

const failedRuns = new WeakMap<object, RecordedRun>()

/** The recording that `record()` made of the run that threw this error. */
export const runOfError = (error: unknown): RecordedRun | undefined =>
  typeof error === 'object' && error !== null ? failedRuns.get(error) : undefined

const OPTIONS: readonly string[] = [
  'name',
  'dir',
  'root',
  'durability',
] satisfies (keyof RecordOptions)[]

/** Validates before anything is written, because JavaScript callers have no type checker. */
function checkRecordOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw errors.RECORD_OPTIONS_INVALID(`The options are ${describeValue(options)}, not an object.`)
  const { name, durability } = options as Partial<Record<keyof RecordOptions, unknown>>
  if (typeof name !== 'string' || name.trim() === '')
    throw errors.RECORD_OPTIONS_INVALID(
      `\`name\` is ${describeValue(name)}, not the name of a run.`,
    )
  if (durability !== undefined && durability !== 'machine' && durability !== 'process')
    throw errors.RECORD_OPTIONS_INVALID(
      `\`durability\` is ${describeValue(durability)}, not 'machine' or 'process'.`,
    )
  const unknown = Object.keys(options).find((key) => !OPTIONS.includes(key))
  if (unknown === undefined) return
  const close = closestName(unknown, OPTIONS)
  throw errors.RECORD_OPTIONS_INVALID(
    `There is no option \`${unknown}\`.${close === undefined ? '' : ` Did you mean \`${close}\`?`}`,
  )
}

const describeValue = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : value === undefined ? 'missing' : typeof value

/** Ids hold a second and a few letters: of many runs that begin at once two may draw the same. */
const DRAWS_MAX = 20

/** A new tape, and the session that writes it. */
export function openRecording(
  options: RecordOptions,
  {
    through = (writer) => writer,
    ...sessionOptions
  }: RecordSessionOptions & { readonly through?: (writer: TapeWriter) => EventWriter } = {},
): { session: RecordSession; run: RecordedRun } {
  const dir = runsFolder(options.dir)
  for (let draw = 1; ; draw += 1) {
    const id = newRunId()
    const run = { id, name: options.name, path: path.join(dir, `${id}.tape`) }
    try {
      return { session: new RecordSession(through(createTape(run, options)), sessionOptions), run }
    } catch (error) {
      const isTaken = error instanceof TapeError && error.code === 'TAPE_EXISTS'
      if (!isTaken || draw >= DRAWS_MAX) throw error
    }
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
  { root, durability = 'machine' }: RecordOptions,
): TapeWriter {
  return TapeWriter.create(
    file,
    {
      type: 'run',
      id,
      name,
      startedAt: natives.dateNow(),
      scope: 'function',
      node: process.version,
      flags: RECORDER_FLAGS,
      durability,
    },
    {
      platform: `${process.platform} ${process.arch}`,
      cwd: process.cwd(),
      ...(root !== undefined && { root }),
    },
    { now: elapsed() },
  )
}

/** Milliseconds since now, to the microsecond. */
export function elapsed(): () => number {
  const start = natives.performanceNow()
  return () => Math.round((natives.performanceNow() - start) * 1000) / 1000
}
