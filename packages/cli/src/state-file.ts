import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Frame, SourceLocation, Stop, Variable } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { stateUnreadable } from './errors.js'
import { sourceLine } from './source-excerpt.js'

/** Where a step left the program: the line that ran next, the stack, and the variables. */
export interface StepState {
  readonly step: string
  /** The event at which the step was looked at. */
  readonly seq: number
  readonly isDirect: boolean
  readonly location: SourceLocation | undefined
  /** The text of that line when the state was captured: files change. */
  readonly source?: string
  /** User code only. */
  readonly frames: readonly Omit<Frame, 'isUser'>[]
  readonly asyncFrames: readonly { readonly name: string; readonly location: SourceLocation }[]
}

/** First line of a state file. */
interface Header {
  readonly format: 1
  readonly run: string
  /** Number of events on the tape then. */
  readonly events: number
}

export const stateFileOf = (tape: Tape): string => `${tape.path}.state`

export function stepState(step: string, seq: number, stop: Stop): StepState {
  const source = stop.location && sourceLine(stop.location)
  return {
    step,
    seq,
    isDirect: stop.isDirect,
    location: stop.location,
    ...(source !== undefined && { source }),
    frames: stop.frames
      .filter(({ isUser }) => isUser)
      .map(({ name, location, variables }) => ({
        name,
        location,
        variables: variables.filter(isState),
      })),
    asyncFrames: stop.asyncFrames
      .filter(({ isUser }) => isUser)
      .map(({ name, location }) => ({ name, location })),
  }
}

/** Functions and imports are code, not state. */
const isState = ({ type }: Variable): boolean => type !== 'function' && type !== 'Module'

/** Written beside the tape, whole or not at all. */
export function writeStates(tape: Tape, states: readonly StepState[]): string {
  const file = stateFileOf(tape)
  const header: Header = { format: 1, run: tape.run.id, events: tape.count }
  const lines = [header, ...states].map((line) => `${JSON.stringify(line)}\n`)
  const temporary = `${file}.${process.pid}.tmp`
  try {
    // Like the tape: it holds what the agent was told.
    writeFileSync(temporary, lines.join(''), { mode: 0o600 })
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
  return file
}

/** All captured states of a run; undefined when none were captured. */
export function readStates(tape: Tape): readonly StepState[] | undefined {
  const file = stateFileOf(tape)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw stateUnreadable(file, error)
  }
  try {
    const [header, ...states] = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
    const { format, run } = header as Header
    if (format !== 1 || run !== tape.run.id) throw new Error('It belongs to another run or version')
    return states as StepState[]
  } catch (error) {
    throw stateUnreadable(file, error)
  }
}
