import { isAlive } from '../runs/run-store.js'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type MovedRoot, record, replay, ReplayDiverged, RetakeError } from '@retake/engine'
import { type Tape, TapeError } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { changedFileLines, changedFiles, projectRoot } from '../agent/changed-files.js'
import { cliErrors } from '../errors.js'
import { fromHere, printableLine } from '../terminal/terminal.js'
import type { RunningTest } from './tape-failure.js'
import { errors, reason } from '@retake/engine/errors'

/**
 * Use of a tape in a test:
 * - `replay` (default): replays it. A tape that is not there yet is recorded, except in CI.
 * - `record`: records it again. In CI only with `RETAKE_MODE`.
 * - `update`: replays it, and records it again if the agent sends something else. Also chosen by the
 *   runner's own `-u`, except in CI.
 * - `offline`: replays it, and never records, whatever else is said.
 */
export type TapeMode = 'replay' | 'record' | 'update' | 'offline'

const MODES: readonly string[] = ['replay', 'record', 'update', 'offline'] satisfies TapeMode[]

type Environment = Readonly<Record<string, string | undefined>>

/** True in CI, where a new tape would not be committed. */
export const isCi = (env: Environment = process.env): boolean =>
  !['', '0', 'false'].includes(env['CI'] ?? '')

/** Chooses the mode: `offline` first, then `RETAKE_MODE`, then the mode of the test. */
export function chooseMode(wanted: string | undefined, env: Environment = process.env): TapeMode {
  const said = env['RETAKE_MODE'] === '' ? undefined : env['RETAKE_MODE']
  for (const mode of [said, wanted]) {
    if (mode !== undefined && !MODES.includes(mode)) throw cliErrors.TEST_MODE_UNKNOWN(mode, MODES)
  }
  if (said === 'offline' || wanted === 'offline') return 'offline'
  const records = wanted === 'record' || wanted === 'update'
  if (records && said === undefined && isCi(env)) throw cliErrors.TEST_RECORDS_IN_CI()
  return (said ?? wanted ?? 'replay') as TapeMode
}

/**
 * Lets `make` write a tape beside the target, and moves it into place when it is complete. If
 * `make` throws, the old tape stays, unless that is expected.
 */
export async function recordAtomically<T>(
  file: string,
  make: (folder: string) => Promise<T>,
  options: { readonly throws: boolean },
): Promise<T> {
  const aside = folderBeside(file)
  const publish = (): void => {
    const tape = readdirSync(aside).find((name) => name.endsWith('.tape'))
    if (tape !== undefined) renameSync(path.join(aside, tape), file)
  }
  try {
    const made = await make(aside).catch((error: unknown) => {
      if (options.throws) publish()
      throw error
    })
    publish()
    return made
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

export const nameOfTape = (file: string): string => path.basename(file).replace(/\.tape$/, '')

function folderBeside(file: string): string {
  const folder = path.dirname(file)
  try {
    mkdirSync(folder, { recursive: true })
    const prefix = `.${path.basename(file)}.recording-`
    // Leftovers of processes that were killed while they recorded.
    for (const name of readdirSync(folder)) {
      if (!name.startsWith(prefix)) continue
      const pid = Number(name.slice(prefix.length).split('-')[0])
      if (!isAlive(pid)) rmSync(path.join(folder, name), { recursive: true, force: true })
    }
    return mkdtempSync(path.join(folder, `${prefix}${process.pid}-`))
  } catch (error) {
    throw errors.RUNS_FOLDER_NOT_WRITABLE(folder, error)
  }
}

export interface UseTapeOptions {
  /** Mode of the tape; see `TapeMode`. `RETAKE_MODE` takes precedence. */
  readonly mode?: TapeMode
  /** Saves the recording even if the agent throws, as expected. */
  readonly throws?: boolean
  /** Fails if a project file that the run read has changed (default: a warning). */
  readonly strictFiles?: boolean
}

export type TapeOutcome<T> = { readonly output: T } | { readonly error: unknown }

/** Resolves a path relative to the test file. */
export function resolveFromTest(target: string | URL, testFile: string | undefined): string {
  if (target instanceof URL) return fileURLToPath(target)
  return path.resolve(testFile === undefined ? process.cwd() : path.dirname(testFile), target)
}

export interface TapeRunner<T> {
  record(file: string, options: UseTapeOptions): Promise<T>
  /** Never records. Throws `ReplayDiverged` if the agent behaves differently. */
  replay(file: string, options: UseTapeOptions): Promise<T>
}

export async function useTape<T>(
  file: string,
  runner: TapeRunner<T>,
  options: UseTapeOptions,
  { updates = false }: Pick<RunningTest, 'updates'>,
): Promise<T> {
  const wanted = options.mode ?? (updates && !isCi() ? 'update' : undefined)
  const mode = chooseMode(wanted)
  const isNew = !existsSync(file)
  if (isNew && mode === 'offline') throw cliErrors.TEST_TAPE_MISSING(file, 'In the mode `offline`')
  if (isNew && mode !== 'record' && isCi())
    throw cliErrors.TEST_TAPE_MISSING(file, 'In CI (`CI` is set)')
  if (isNew || mode === 'record') {
    const result = await runner.record(file, options)
    say(file, isNew ? 'recorded for the first time; the next run replays it' : 'recorded again')
    return result
  }
  if (mode !== 'update') return runner.replay(file, options)
  try {
    return await runner.replay(file, options)
  } catch (error) {
    if (!(error instanceof ReplayDiverged)) throw error
    const result = await runner.record(file, options)
    say(file, `recorded again: ${error.divergence.summary}`)
    return result
  }
}

const say = (file: string, what: string): void =>
  void process.stderr.write(`retake: ${fromHere(file)} was ${printableLine(what)}\n`)

/** Runs an agent that is a function in this process. */
export const functionRunner = <T>(agent: () => T | Promise<T>): TapeRunner<TapeOutcome<T>> => ({
  async record(file, { throws = false }) {
    try {
      const options = { name: nameOfTape(file), root: projectRoot(file) }
      const make = (dir: string) => record({ ...options, dir }, agent)
      const { output } = await recordAtomically(file, make, { throws })
      return { output }
    } catch (error) {
      if (isOurs(error)) throw error
      if (throws) return { error }
      throw cliErrors.TEST_RECORDING_THREW(file, reason(error), error)
    }
  },
  async replay(file, options) {
    const tape = openTape(file)
    const { root: recorded, entry } = tape.details
    if (tape.run.scope !== 'function') throw cliErrors.TEST_TAPE_OF_PROCESS(file, entry)
    if (!tape.isComplete) throw cliErrors.TEST_TAPE_CUT_OFF(file)
    const root = projectRoot(file)
    const outcome = await replay(file, agent, { compares: 'requests', root }).then(
      ({ output }) => ({ output }),
      (error: unknown) => {
        if (isOurs(error)) throw error
        return { error }
      },
    )
    checkFiles(tape, recorded === undefined ? undefined : { recorded, current: root }, options)
    return outcome
  },
})

/** Reports changed files that were served as recorded; throws if `strictFiles` is set. */
export function checkFiles(
  tape: Tape,
  moved: MovedRoot | undefined,
  { strictFiles = false }: UseTapeOptions,
): void {
  const lines = changedFileLines(changedFiles(tape, moved))
  if (strictFiles && lines.length > 0) throw cliErrors.FILES_CHANGED(lines)
  for (const line of lines) process.stderr.write(`retake: ${line}\n`)
}

const isOurs = (error: unknown): boolean =>
  error instanceof RetakeError || error instanceof TapeError
