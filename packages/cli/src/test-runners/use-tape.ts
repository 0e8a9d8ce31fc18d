import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { record, replay, RetakeError } from '@retake/engine'
import type { MovedRoot } from '@retake/engine'
import { TapeError } from '@retake/tape'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { changedFileLines, changedFiles } from '../changed-files.js'
import {
  filesChanged,
  notAFunctionTape,
  recordedRunThrew,
  testTapeCutOff,
  testTapeMissing,
} from '../errors/test-tapes.js'
import { projectRoot } from '../project-root.js'
import { nameOfTape, recordAside } from './record-aside.js'
import { chooseMode, isCi } from './tape-mode.js'
import type { TapeMode } from './tape-mode.js'

export type { TapeMode }

export interface TapeOptions {
  /** What is done with the tape; see `TapeMode`. `RETAKE_MODE` comes first. */
  readonly mode?: TapeMode
  /** The agent is meant to throw: a recording of it is kept although it does. */
  readonly throws?: boolean
  /** Fails when a file of the project that the run read has changed since; otherwise that is a warning. */
  readonly strictFiles?: boolean
}

/** What a run with a tape came to; `error` is what the agent threw, then as now. */
export type TapeOutcome<T> = { readonly output: T } | { readonly error: unknown }

/** A path as a test names it: from the folder of the test file. */
export function pathFrom(place: string | URL, testFile: string | undefined): string {
  if (place instanceof URL) return fileURLToPath(place)
  return path.resolve(testFile === undefined ? process.cwd() : path.dirname(testFile), place)
}

/** Replays `agent` against its tape, or records it, as the mode says. Throws `ReplayDiverged` where it does something else. */
export async function useTape<T>(
  file: string,
  agent: () => T | Promise<T>,
  options: TapeOptions = {},
): Promise<TapeOutcome<T>> {
  if (isToBeRecorded(file, chooseMode(options.mode))) return recordTape(file, agent, options)
  return replayTape(file, agent, options)
}

/** Whether the tape is to be recorded; throws where it should be replayed and is not there. */
export function isToBeRecorded(file: string, mode: TapeMode): boolean {
  if (mode === 'record') return true
  if (existsSync(file)) return false
  if (mode === 'offline') throw testTapeMissing(file, 'In the mode `offline`')
  if (isCi()) throw testTapeMissing(file, 'In CI (`CI` is set)')
  return true
}

async function recordTape<T>(
  file: string,
  agent: () => T | Promise<T>,
  { throws = false }: TapeOptions,
): Promise<TapeOutcome<T>> {
  try {
    const options = { name: nameOfTape(file), root: projectRoot(file) }
    const make = (dir: string) => record({ ...options, dir }, agent)
    const { output } = await recordAside(file, make, { throws })
    return { output }
  } catch (error) {
    if (isOurs(error)) throw error
    if (throws) return { error }
    throw recordedRunThrew(file, error)
  }
}

/** Replays and never records. */
export async function replayTape<T>(
  file: string,
  agent: () => T | Promise<T>,
  options: TapeOptions = {},
): Promise<TapeOutcome<T>> {
  const tape = openTape(file)
  const { root: recorded, entry } = tape.details
  if (tape.run.scope !== 'function') throw notAFunctionTape(file, entry)
  if (!tape.isComplete) throw testTapeCutOff(file)
  const root = projectRoot(file)
  const outcome = await outcomeOf(() => replay(file, agent, { output: 'ignore', root }))
  checkFiles(tape, recorded === undefined ? undefined : { recorded, current: root }, options)
  return outcome
}

async function outcomeOf<T>(run: () => Promise<{ readonly output: T }>): Promise<TapeOutcome<T>> {
  try {
    const { output } = await run()
    return { output }
  } catch (error) {
    if (isOurs(error)) throw error
    return { error }
  }
}

/** Reports changed files that were served as recorded; throws if `strictFiles` is set. */
export function checkFiles(
  tape: Tape,
  moved: MovedRoot | undefined,
  { strictFiles = false }: TapeOptions,
): void {
  const lines = changedFileLines(changedFiles(tape, moved))
  if (strictFiles && lines.length > 0) throw filesChanged(lines)
  for (const line of lines) process.stderr.write(`retake: ${line}\n`)
}

const isOurs = (error: unknown): boolean =>
  error instanceof RetakeError || error instanceof TapeError
