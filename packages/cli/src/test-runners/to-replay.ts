import { attempt } from '../attempt.js'
import { ReplayDiverged } from '@retake/engine'
import { cliErrors } from '../errors.js'
import { fromHere } from '../terminal/terminal.js'
import { type RunningTest, TapeFailure } from './tape-failure.js'
import {
  checkFiles,
  functionRunner,
  nameOfTape,
  pathFrom,
  recordAside,
  type UseTapeOptions,
  type TapeRunner,
  useTape,
} from './use-tape.js'
import { realpathSync } from 'node:fs'
import path from 'node:path'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { replayAgent } from '../agent/replay-agent.js'
import { movedHere } from '../agent/source-code.js'
import { recordAgent } from '../agent/record-agent.js'
import { RunStore } from '../runs/run-store.js'
import { trustInThisProcess } from '../agent/trust.js'

/** State of the matcher that both runners provide. */
export interface MatcherState extends RunningTest {
  readonly isNot?: boolean
  /** State of Jest's snapshots, which knows about `-u`. */
  readonly snapshotState?: unknown
}

export interface MatcherResult {
  readonly pass: boolean
  message(): string
}

/**
 * The matcher behind `expect(agent).toReplay(tape)`. `.not` only ever replays: a
 * tape made by the same run could not differ from it.
 */
export async function toReplay(
  state: MatcherState,
  agent: unknown,
  tape: string | URL,
  options: UseTapeOptions = {},
): Promise<MatcherResult> {
  const file = pathFrom(tape, state.testPath)
  try {
    const runner = runnerOf(agent, state.testPath)
    const running = { updates: isUpdate(state) }
    await (state.isNot === true ? runner.replay(file, {}) : useTape(file, runner, options, running))
    return {
      pass: true,
      message: () => `The agent does exactly what ${fromHere(file)} says, and should not.`,
    }
  } catch (error) {
    const isExpected = state.isNot === true && error instanceof ReplayDiverged
    // Thrown, not answered: a runner would put a stack of its own to a message.
    if (!isExpected) throw TapeFailure.from(error, file, state)
    return { pass: false, message: () => '' }
  }
}

function isUpdate({ updates, snapshotState }: MatcherState): boolean {
  return updates ?? (snapshotState as { _updateSnapshot?: unknown })?._updateSnapshot === 'all'
}

/** How the agent is run with its tape: a function here, a program in a process of its own. */
function runnerOf(agent: unknown, testPath: string | undefined): TapeRunner<unknown> {
  if (typeof agent === 'function') return functionRunner(agent as () => unknown)
  if (typeof agent !== 'string' && !(agent instanceof URL))
    throw cliErrors.TEST_NOT_AN_AGENT(describe(agent))
  return programRunner(pathFrom(agent, testPath))
}

/** A run with a tape: what the agent answered, or throws what it threw. */
export type UseTape = <T>(
  tape: string | URL,
  agent: () => T | Promise<T>,
  options?: UseTapeOptions,
) => Promise<{ readonly output: T; readonly tape: string }>

/** The function that tests get as `tape`. */
export const tapeFunction =
  (test: () => MatcherState, defaults: () => UseTapeOptions = () => ({})): UseTape =>
  async (tape, agent, options) => {
    const running = test()
    const file = pathFrom(tape, running.testPath)
    const chosen = { ...defaults(), ...options }
    const outcome = await useTape(file, functionRunner(agent), chosen, {
      updates: isUpdate(running),
    }).catch((error: unknown) => {
      throw TapeFailure.from(error, file, running)
    })
    if ('error' in outcome) throw outcome.error
    return { output: outcome.output, tape: file }
  }

const describe = (value: unknown): string => {
  if (value instanceof Promise || typeof (value as PromiseLike<unknown>)?.then === 'function')
    return 'a promise: the agent has started already'
  return value === null ? 'null' : `a value of type ${typeof value}`
}

/** A whole program, in a process of its own, as `retake record` and `replay` run it. */
const programRunner = (program: string): TapeRunner<void> => ({
  record(file, { throws = false }) {
    const make = async (folder: string): Promise<void> => {
      const store = new RunStore(folder)
      const name = nameOfTape(file)
      const entry = path.relative(process.cwd(), program)
      const end = await recordAgent({ store, entry, args: [], name, stdio: 'ignore' })
      if (throws || (end.code === 0 && end.signal === undefined)) return
      const how = end.signal ? `was killed by ${end.signal}` : `ended with exit code ${end.code}`
      throw cliErrors.TEST_RECORDING_THREW(file, `it ${how}.`)
    }
    return recordAside(file, make, { throws: false })
  },
  async replay(file, options) {
    const tape = openTape(file)
    if (!tape.isComplete) throw cliErrors.TEST_TAPE_CUT_OFF(file)
    if (!isRunOf(tape, program)) throw cliErrors.TEST_TAPE_OF_FUNCTION(file, program)
    // The test itself names the program.
    trustInThisProcess(tape)
    const [divergence] = (await replayAgent(tape, { stdio: 'ignore', compares: 'requests' }))
      .divergences
    if (divergence !== undefined) throw new ReplayDiverged(divergence)
    checkFiles(tape, movedHere(tape), options)
  },
})

function isRunOf(tape: Tape, program: string): boolean {
  const { cwd, entry } = tape.details
  if (cwd === undefined || entry === undefined) return false
  const root = movedHere(tape)
  const recorded = path.resolve(root?.current ?? cwd, path.relative(cwd, path.resolve(cwd, entry)))
  return realPath(recorded) === realPath(program)
}

/** The path itself where there is nothing. */
const realPath = (file: string): string => attempt(() => realpathSync(file), file)
