import { ReplayDiverged } from '@retake/engine'
import { notAnAgent } from '../errors.js'
import { fromHere } from '../from-here.js'
import { TapeFailure } from './tape-failure.js'
import { replayTape, tapePath, useTape } from './use-tape.js'
import type { TapeOptions } from './use-tape.js'

/** What the matcher knows about where it stands; both runners have these. */
export interface MatcherState {
  readonly testPath?: string
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
  const file = tapePath(tape, state.testPath)
  try {
    if (typeof agent !== 'function') throw notAnAgent(describe(agent))
    if (state.isNot === true) await replayTape(file, agent as Agent)
    else await useTape(file, agent as Agent, options)
    return {
      pass: true,
      message: () => `The agent does exactly what ${fromHere(file)} says, and should not.`,
    }
  } catch (error) {
    const isExpected = state.isNot === true && error instanceof ReplayDiverged
    // Thrown, not answered: a runner would put a stack of its own to a message.
    if (!isExpected) throw TapeFailure.from(error, file)
    return { pass: false, message: () => '' }
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
  (testPath: () => string | undefined, defaults: () => TapeOptions = () => ({})): UseTape =>
  async (tape, agent, options) => {
    const file = tapePath(tape, testPath())
    const outcome = await useTape(file, agent, { ...defaults(), ...options }).catch(
      (error: unknown) => {
        throw TapeFailure.from(error, file)
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
