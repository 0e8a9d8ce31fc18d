import { isBeingWritten, openTape } from '@retake/tape/node'
import {
  type Durability,
  type RunView,
  type SignatureState,
  type Tape,
  tapeUnreadable,
} from '@retake/tape'
import { runEnd, runStatus, type RunStatus } from '@retake/tape/present'
import { explain } from '../command-line/print-error.js'
import { isRecording } from './run-store.js'
import { viewRun } from './view-run.js'

/** One line of `retake list`. */
export type RunSummary = ReturnType<typeof summarizeRun>

/** Reads what a list shows of a run; a tape that cannot be read says why. */
export function summarizeRun(id: string, path: string) {
  try {
    const tape = openTape(path)
    const view = viewRun(tape)
    const { run, details } = tape
    return {
      id: view.id,
      path,
      name: view.name,
      ...(details.branch &&
        run.parent && { branch: { kind: details.branch.kind, parent: run.parent.run } }),
      startedAt: view.startedAt,
      status: statusOf(view, tape),
      /** The end of the tape is missing, and no process is writing it. */
      ...(isCutOff(tape) && { cutOff: true as const }),
      steps: view.recordedSteps.length,
      durationMs: view.durationMs,
      /** Undefined when the price of one of its models is not known. */
      costUsd: view.totals.modelCalls > 0 ? view.totals.costUsd : undefined,
      ...modelsOf(view),
      ...endOf(view),
    }
  } catch (error) {
    // A tape that breaks the reader must not hide the others.
    return { id, path, error: explain(error) ?? explain(tapeUnreadable(path, error)) }
  }
}

function modelsOf({ totals, recordedSteps }: RunView): { models?: string[]; tokens?: number } {
  if (totals.modelCalls === 0) return {}
  const { input, cachedInput, cacheWrite, output } = totals.usage
  const models = new Set(recordedSteps.flatMap(({ model }) => model ?? []))
  const tokens = input + cachedInput + cacheWrite + output
  // None at all means that no answer reported them.
  return { models: [...models], ...(tokens > 0 && { tokens }) }
}

const LINE_MAX = 200

/** The error that ended it, or else its last line of output. */
function endOf(view: RunView): { failure?: string; lastLine?: string } {
  const status = runStatus(view.exit, false)
  const failure = status === 'failed' ? runEnd({ status, exit: view.exit }) : undefined
  if (failure !== undefined) return { failure: failure.slice(0, LINE_MAX) }
  const last = view.outputs.at(-1)
  const text = last && Buffer.from(view.outputBytes(last)).toString().trim().split('\n').at(-1)
  return text ? { lastLine: text.slice(0, LINE_MAX) } : {}
}

const isCutOff = (tape: Tape): boolean => !tape.isComplete && !isBeingWritten(tape.path)

export const statusOf = ({ exit }: RunView, tape: Tape): RunStatus =>
  runStatus(exit, exit === undefined && isRecording(tape.path, tape.run.scope))

/** `cut off`: all records are valid, but the end is missing. `recording`: it is being written now. */
export type IntegritySummary = 'intact' | 'cut off' | 'recording' | 'damaged'

/** Checks every byte and every link of a tape, and that its end is present. */
export function checkTape(tape: Tape): {
  readonly integrity: IntegritySummary
  /** One line: what was found, or how much was checked. */
  readonly detail: string
  readonly events: number
  /** Names the run; recomputed, not read off the tape. */
  readonly digest: string
  readonly signature: SignatureState
  /** Set if the tape was not synced while it was written. */
  readonly durability?: Durability
} {
  const { count: events, digest, problem, signature } = tape.verify()
  const { durability } = tape.run
  const common = { events, digest, signature, ...(durability && { durability }) }
  if (problem !== undefined)
    return { ...common, integrity: 'damaged', detail: `event ${problem.seq}: ${problem.message}` }
  if (tape.isComplete) return { ...common, integrity: 'intact', detail: `${events} events` }
  if (isBeingWritten(tape.path))
    return { ...common, integrity: 'recording', detail: `${events} events so far` }
  const missing =
    tape.status === 'sealed' ? 'the index after its seal is incomplete' : 'it has no seal'
  const unsynced =
    durability === 'process'
      ? '; not synced (durability process): a power cut may have lost more'
      : ''
  return { ...common, integrity: 'cut off', detail: `${events} events, then ${missing}${unsynced}` }
}
