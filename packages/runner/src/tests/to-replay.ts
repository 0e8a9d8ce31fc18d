import { inFolder } from '../agent/plan-in-folder.js'
import { attempt } from '@retake/tape/format'
import { ReplayDiverged } from '@retake/engine'
import { planRerun } from '@retake/engine/plans'
import { continueAgent } from '../agent/continue-agent.js'

import { tapeCopies } from './write-test.js'
import { cliErrors } from '../errors.js'
import { temporaryFolder } from '../temporary-folder.js'
import { shellWord } from '../terminal/shell-word.js'
import { fromHere } from '../terminal/terminal.js'
import { type RunningTest, TapeFailure } from './tape-failure.js'
import {
  checkFiles,
  functionRunner,
  nameOfTape,
  resolveFromTest,
  recordAtomically,
  type UseTapeOptions,
  type TapeRunner,
  useTape,
} from './use-tape.js'
import { copyFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { replayAgent } from '../agent/replay-agent.js'
import { fileHere, movedHere } from '../sources/source-code.js'
import { recordAgent } from '../agent/record-agent.js'
import { RunStore } from '../runs/run-store.js'
import { trustInThisProcess } from '../agent/trust.js'
import { makeOracle } from '../oracle/make-oracle.js'
import type { RunOutcome } from '../config/oracle-source.js'
import { type Judgement, readOutcome } from '../oracle/oracle.js'

export interface MatcherState extends RunningTest {
  readonly isNot?: boolean
  /** State of Jest's snapshots, which knows `-u`. */
  readonly snapshotState?: unknown
}

export interface MatcherResult {
  readonly pass: boolean
  message(): string
}

/**
 * The matcher behind `expect(agent).toReplay(tape)`. With `.not` it never records, because a tape
 * of the same run could not differ from it.
 */
export async function toReplay(
  state: MatcherState,
  agent: unknown,
  tape: string | URL,
  options: UseTapeOptions = {},
): Promise<MatcherResult> {
  const file = resolveFromTest(tape, state.testPath)
  try {
    const runner = runnerOf(agent, state.testPath)
    const running = { updates: isUpdate(state) }
    await (state.isNot === true ? runner.replay(file, {}) : useTape(file, runner, options, running))
    return {
      pass: true,
      message: () => `The agent matches ${fromHere(file)}, but should differ.`,
    }
  } catch (error) {
    const isExpected = state.isNot === true && error instanceof ReplayDiverged
    // Thrown, because a runner would add its own stack to a returned message.
    if (!isExpected) throw TapeFailure.from(error, file, state)
    return { pass: false, message: () => '' }
  }
}

function isUpdate({ updates, snapshotState }: MatcherState): boolean {
  return updates ?? (snapshotState as { _updateSnapshot?: unknown })?._updateSnapshot === 'all'
}

function runnerOf(agent: unknown, testPath: string | undefined): TapeRunner<unknown> {
  if (typeof agent === 'function') return functionRunner(agent as () => unknown)
  if (typeof agent === 'string' || agent instanceof URL)
    return programRunner(resolveFromTest(agent, testPath))
  if (agent instanceof Promise || typeof (agent as PromiseLike<unknown>)?.then === 'function')
    throw cliErrors.TEST_NOT_AN_AGENT('a promise: the agent has started already')
  throw cliErrors.TEST_NOT_AN_AGENT(agent === null ? 'null' : `a value of type ${typeof agent}`)
}

/** Runs an agent with a tape. Returns its result, or throws its error. */
export type UseTape = <T>(
  tape: string | URL,
  agent: () => T | Promise<T>,
  options?: UseTapeOptions,
) => Promise<{ readonly output: T; readonly tape: string }>

export const tapeFunction =
  (test: () => MatcherState, defaults: () => UseTapeOptions = () => ({})): UseTape =>
  async (tape, agent, options) => {
    const running = test()
    const file = resolveFromTest(tape, running.testPath)
    const chosen = { ...defaults(), ...options }
    const outcome = await useTape(file, functionRunner(agent), chosen, {
      updates: isUpdate(running),
    }).catch((error: unknown) => {
      throw TapeFailure.from(error, file, running)
    })
    if ('error' in outcome) throw outcome.error
    return { output: outcome.output, tape: file }
  }

/** Runs a program in its own process, like `retake record` and `replay`. */
const programRunner = (
  program: string,
  runs: readonly string[] = [],
): TapeRunner<RunOutcome | undefined> => ({
  record(file, { throws = false }) {
    const make = async (folder: string): Promise<undefined> => {
      const store = new RunStore(folder)
      const name = nameOfTape(file)
      const entry = path.relative(process.cwd(), program)
      const end = await recordAgent({ store, entry, args: [], name, stdio: 'ignore' })
      if (throws || (end.code === 0 && end.signal === undefined)) return undefined
      const how = end.signal ? `was killed by ${end.signal}` : `ended with exit code ${end.code}`
      throw cliErrors.TEST_RECORDING_THREW(file, `it ${how}.`)
    }
    return recordAtomically(file, make, { throws: false })
  },
  async replay(file, options) {
    const tape = openTape(file)
    if (!tape.isComplete) throw cliErrors.TEST_TAPE_CUT_OFF(file)
    const { cwd, entry } = tape.details
    if (
      cwd === undefined ||
      entry === undefined ||
      realPath(fileHere(cwd, entry, movedHere(tape))) !== realPath(program)
    )
      throw cliErrors.TEST_TAPE_OF_FUNCTION(file, program)
    // Trusted, because the test itself names the program.
    trustInThisProcess(tape)
    if (runs.length > 0) return rerunTools(tape, runs)
    const output: Buffer[] = []
    const replayed = await replayAgent(tape, {
      stdio: ['ignore', 'pipe', 'ignore'],
      compares: 'requests',
      onOutput: (chunk) => output.push(chunk),
    })
    const [divergence] = replayed.divergences
    if (divergence !== undefined) throw new ReplayDiverged(divergence)
    checkFiles(tape, movedHere(tape), options)
    const stdoutBytes = Buffer.concat(output)
    return { ...readOutcome(tape), stdout: stdoutBytes.toString(), stdoutBytes }
  },
})

/** Runs the program with these tools for real. Every request must be on the tape. */
async function rerunTools(tape: Tape, runs: readonly string[]): Promise<RunOutcome> {
  using folder = temporaryFolder('test')
  // A branch can only be read together with its ancestors.
  for (const [to, from] of tapeCopies(tape, path.join(folder.path, `${tape.run.id}.tape`)))
    copyFileSync(from, to)
  const root = movedHere(tape)
  const plan = inFolder(planRerun(tape, { effects: 'refused', runs }), folder.path)
  const continued = await continueAgent(
    tape,
    { ...plan, isDiscarded: true, ...(root && { root }) },
    { stdio: 'ignore' },
  )
  const refused = continued.live?.refused
  if (refused !== undefined) throw cliErrors.TEST_REQUEST_CHANGED(refused.what, refused.site)
  return readOutcome(continued.isLive ? openTape(continued.tape) : tape)
}

export interface ReplayProgramOptions extends Pick<UseTapeOptions, 'strictFiles'> {
  /** Tools that run instead of being served, to test their code. Requests must be as recorded. */
  readonly runs?: readonly string[]
  /** Judges the outcome, as for `--oracle`: `stdout:/refunded/`, a file, a command. */
  readonly oracle?: string
}

export interface ReplayedProgram extends RunOutcome {
  readonly judgement?: Judgement
}

/**
 * Replays a program against its tape, offline, in its own process. Works in any test runner: paths
 * are URLs, or relative to the working directory. Never records. Throws a `TapeFailure` if the
 * program behaves differently.
 */
export async function replayProgram(
  program: string | URL,
  tape: string | URL,
  { oracle, runs, ...options }: ReplayProgramOptions = {},
): Promise<ReplayedProgram> {
  const file = resolveFromTest(tape, undefined)
  try {
    const outcome = await programRunner(resolveFromTest(program, undefined), runs).replay(
      file,
      options,
    )
    if (outcome === undefined || oracle === undefined) return outcome ?? readOutcome(openTape(file))
    const judge = await makeOracle(oracle)
    return { ...outcome, judgement: await judge(outcome, new AbortController().signal) }
  } catch (error) {
    const args = attempt(() => openTape(file).details.args) ?? []
    const words = [fromHere(resolveFromTest(program, undefined)), ...args].map(shellWord).join(' ')
    const again = `retake record ${words}, then retake test last --force`
    throw TapeFailure.from(error, file, { again })
  }
}

/** Returns the path itself if it does not exist. */
const realPath = (file: string): string => attempt(() => realpathSync(file), file)
