import { readIfPresent } from '../runs/run-store.js'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Stop } from '@retake/engine/inspect'
import type { CapturedState, Tape } from '@retake/tape'
import { cliErrors } from '../errors.js'
import { sourceLine } from './stop-lines.js'

/** First line of a state file. */
interface Header {
  readonly format: 1
  readonly run: string
  /** Number of events on the tape then. */
  readonly events: number
}

export const stateFileOf = (tape: Pick<Tape, 'path'>): string => `${tape.path}.state`

/** A state of a step without library frames and code. */
export function capturedState(
  { location, isDirect }: Pick<Stop, 'location' | 'isDirect'>,
  state: Pick<CapturedState, 'step' | 'seq' | 'frames' | 'asyncFrames'>,
): CapturedState {
  const { step, seq, frames, asyncFrames } = state
  const source = location && sourceLine(location)
  return {
    step,
    seq,
    isDirect,
    location,
    ...(source !== undefined && { source }),
    frames: frames.map(({ name, location: at, variables }) => ({
      name,
      location: at,
      variables: variables.filter(isState),
    })),
    asyncFrames: asyncFrames.map(({ name, location: at }) => ({ name, location: at })),
  }
}

/** Functions and imports are code, not state. */
const isState = ({ type }: { readonly type: string }): boolean =>
  type !== 'function' && type !== 'Module'

/** Written beside the tape, whole or not at all. */
export function writeStates(tape: Tape, states: readonly CapturedState[]): string {
  const file = stateFileOf(tape)
  const header: Header = { format: 1, run: tape.run.id, events: tape.count }
  const lines = [header, ...states].map((line) => `${JSON.stringify(line)}\n`)
  const temporary = `${file}.${process.pid}.tmp`
  try {
    // Private like the tape: it contains what the agent received.
    writeFileSync(temporary, lines.join(''), { mode: 0o600 })
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
  return file
}

/** All captured states of a run; undefined when none were captured. */
export function readStates(tape: Tape): readonly CapturedState[] | undefined {
  return readIfPresent(
    stateFileOf(tape),
    (text) => {
      const lines = text.trimEnd().split('\n')
      const [header, ...states] = lines.map((line) => JSON.parse(line) as unknown)
      const { format, run } = header as Header
      if (format !== 1 || run !== tape.run.id)
        throw new Error('It belongs to another run or version')
      return states as CapturedState[]
    },
    cliErrors.STATE_UNREADABLE,
  )
}
