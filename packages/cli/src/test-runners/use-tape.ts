import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { record, replay, RetakeError } from '@retake/engine'
import { TapeError } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import {
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
  return replayTape(file, agent)
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
): Promise<TapeOutcome<T>> {
  const { run, isComplete, details } = openTape(file)
  if (run.scope !== 'function') throw notAFunctionTape(file, details.entry)
  if (!isComplete) throw testTapeCutOff(file)
  try {
    const { output } = await replay(file, agent, {
      output: 'ignore',
      root: projectRoot(file),
    })
    return { output }
  } catch (error) {
    if (isOurs(error)) throw error
    return { error }
  }
}

const isOurs = (error: unknown): boolean =>
  error instanceof RetakeError || error instanceof TapeError
