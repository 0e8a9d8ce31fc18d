import { ReplayDiverged } from '@retake/engine'
import { notAnAgent } from '../errors/test-tapes.js'
import { fromHere } from '../from-here.js'
import { TapeFailure } from './tape-failure.js'
import type { RunningTest } from './tape-failure.js'
import { replayProgram, useProgramTape } from './use-program-tape.js'
import { replayTape, pathFrom, useTape } from './use-tape.js'
import type { TapeOptions } from './use-tape.js'

/** What the matcher knows about where it stands; both runners have these. */
export interface MatcherState extends RunningTest {
  readonly isNot?: boolean
}

export interface MatcherResult {
  readonly pass: boolean
  message(): string
}

type Agent = () => unknown

/**
 * The matcher behind `expect(agent).toReplay(tape)`. `.not` only ever replays: a
 * tape made by the same run could not differ from it.
 */
export async function toReplay(
  state: MatcherState,
  agent: unknown,
  tape: string | URL,
  options: TapeOptions = {},
): Promise<MatcherResult> {
  const file = pathFrom(tape, state.testPath)
  try {
    const { use, replay } = runsOf(agent, file, state.testPath)
    await (state.isNot === true ? replay() : use(options))
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

/** How the agent is run with its tape: a function here, a program in a process of its own. */
function runsOf(agent: unknown, file: string, testPath: string | undefined) {
  if (typeof agent === 'function')
    return {
      use: (options: TapeOptions): Promise<unknown> => useTape(file, agent as Agent, options),
      replay: (): Promise<unknown> => replayTape(file, agent as Agent),
    }
  if (typeof agent !== 'string' && !(agent instanceof URL)) throw notAnAgent(describe(agent))
  const program = pathFrom(agent, testPath)
  return {
    use: (options: TapeOptions): Promise<unknown> => useProgramTape(file, program, options),
    replay: (): Promise<unknown> => replayProgram(file, program),
  }
}

/** A run with a tape: what the agent answered, or throws what it threw. */
export type UseTape = <T>(
  tape: string | URL,
  agent: () => T | Promise<T>,
  options?: TapeOptions,
) => Promise<{ readonly output: T; readonly tape: string }>

/** The function that tests get as `tape`. */
export const tapeFunction =
  (test: () => RunningTest, defaults: () => TapeOptions = () => ({})): UseTape =>
  async (tape, agent, options) => {
    const running = test()
    const file = pathFrom(tape, running.testPath)
    const outcome = await useTape(file, agent, { ...defaults(), ...options }).catch(
      (error: unknown) => {
        throw TapeFailure.from(error, file, running)
      },
    )
    if ('error' in outcome) throw outcome.error
    return { output: outcome.output, tape: file }
  }

const describe = (value: unknown): string => {
  if (value instanceof Promise || typeof (value as PromiseLike<unknown>)?.then === 'function')
    return 'a promise: the agent has started already'
  return value === null ? 'null' : `a value of type ${typeof value}`
}
