import { readIfPresent } from '../runs/run-store.js'
import type { Probe, Stop } from '@retake/engine/inspect'
import type { CapturedState, RunView, Step, Tape } from '@retake/tape'
import { replacePrivateFile } from '@retake/tape/node'
import { momentOf } from '../runs/view-run.js'
import { checkEnd } from './probe-agent.js'
import { redactionOf } from '@retake/engine/runs'
import { withPersonalData } from '../agent/replay-agent.js'
import { cliErrors } from '../errors.js'
import type { RecordedCode } from '../sources/recorded-code.js'
import { sourceLine } from './stop-lines.js'

interface Header {
  readonly format: 1
  readonly run: string
  /** Number of events on the tape at the time. */
  readonly events: number
}

export const stateFileOf = (tape: Pick<Tape, 'path'>): string => `${tape.path}.state`

/** The state of a step, without library frames and code. `code`: the code that runs, if not today's. */
export function capturedState(
  { location, isDirect }: Pick<Stop, 'location' | 'isDirect'>,
  state: Pick<CapturedState, 'step' | 'seq' | 'frames' | 'asyncFrames'>,
  code: RecordedCode | undefined,
): CapturedState {
  const { step, seq, frames, asyncFrames } = state
  // Other copies of the same file may be in use.
  const source = location && sourceLine(location, code?.fileOf(location.file) ?? location.file)
  return {
    step,
    seq,
    isDirect,
    location,
    ...(source !== undefined && { source }),
    frames: frames.map(({ name, location: at, variables }) => ({
      name,
      location: at,
      // Functions and imports are code, not state.
      variables: variables.filter(({ type }) => type !== 'function' && type !== 'Module'),
    })),
    asyncFrames: asyncFrames.map(({ name, location: at }) => ({ name, location: at })),
  }
}

/** Throws for a redacted run with its key: the states contain what the recording hides. */
export function writeStates(tape: Tape, states: readonly CapturedState[]): string {
  if (redactionOf(withPersonalData(tape)) !== undefined)
    throw cliErrors.STATES_NOT_HIDDEN(tape.run.id)
  const file = stateFileOf(tape)
  const header: Header = { format: 1, run: tape.run.id, events: tape.count }
  const lines = [header, ...states].map((line) => `${JSON.stringify(line)}\n`)
  replacePrivateFile(file, lines.join(''))
  return file
}

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

/**
 * Captures the state at every k-th step, in one replay that runs to its end. Steps after whose
 * answer none of the user's code ran have no state.
 */
export async function captureStates(
  probe: Probe,
  view: RunView,
  every: number,
  code: RecordedCode | undefined,
): Promise<CapturedState[]> {
  const wanted = view.recordedSteps
    .filter(({ number }) => number % every === 0 || number === view.recordedSteps.length)
    .toSorted((a, b) => momentOf(a) - momentOf(b))
  const states: (CapturedState & { readonly number: number })[] = []
  let last: Stop | undefined
  for (const step of wanted) {
    const stop = await stopAt(probe, step, last)
    if (stop === undefined) break
    const isUsers = ({ isUser }: { readonly isUser: boolean }): boolean => isUser
    const shown = {
      step: step.label,
      seq: momentOf(step),
      frames: stop.frames.filter(isUsers),
      asyncFrames: stop.asyncFrames.filter(isUsers),
    }
    const state = capturedState(stop, shown, code)
    states.push({ number: step.number, ...state })
    last = stop
  }
  if (probe.position.kind !== 'ended') await probe.resume()
  if (probe.position.kind === 'ended') checkEnd(probe.position)
  return states
    .toSorted((a, b) => a.number - b.number)
    .map(({ number: _number, ...state }) => state)
}

async function stopAt(probe: Probe, step: Step, last: Stop | undefined): Promise<Stop | undefined> {
  const moment = momentOf(step)
  // The first code after an earlier answer ran only after this one had arrived too.
  if (last && last.position > moment) return { ...last, isDirect: last.position === moment + 1 }
  const paused = await probe.runTo(moment, { staysAttached: true })
  if (paused.kind === 'ended') return undefined
  const stop = await probe.stopAtUserCode()
  return stop.kind === 'stop' ? stop : undefined
}
