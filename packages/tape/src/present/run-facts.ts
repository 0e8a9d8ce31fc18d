import { errorName, type RecordedError } from '../format/events.js'
import type { RunTotals, Step } from '../read-model/step.js'
import { cost, count, plural } from './figures.js'

/** Colour of a word; each view maps it to its own. */
export type Tone = 'good' | 'danger' | 'warning' | 'accent' | 'neutral'

/**
 * State of a run and its tape; all commands and pages show the same one. `killed`: a signal ended
 * it, or no end was recorded, which a run that was killed and a file that was cut have in common.
 * `stopped`: a branch with an offline tail whose parent has no further answer. `recording`: it is
 * still running. `cut off`: its end was recorded, but the end of its tape is missing. `damaged`:
 * its tape is not what was written.
 */
export type RunStatus =
  | 'done'
  | 'failed'
  | 'killed'
  | 'stopped'
  | 'recording'
  | 'cut off'
  | 'damaged'

export const RUN_STATUS_WORDS: Readonly<Record<RunStatus, { tone: Tone; title: string }>> = {
  done: { tone: 'good', title: 'It ended without an error.' },
  failed: { tone: 'danger', title: 'It ended with an error or an exit code other than 0.' },
  killed: { tone: 'warning', title: 'No end was recorded, or a signal ended it.' },
  stopped: { tone: 'warning', title: 'It stayed offline, and its parent has no further answer.' },
  recording: { tone: 'accent', title: 'It is still running; the page follows it.' },
  'cut off': {
    tone: 'warning',
    title: 'Its end was recorded, but the end of its tape is missing.',
  },
  damaged: {
    tone: 'danger',
    title: 'Its tape is not what was written. Only the part before is shown.',
  },
}

interface RunExit {
  readonly code?: number
  readonly signal?: string
  readonly error?: RecordedError
}

/** What is known about the tape of a run, besides its events. */
export interface TapeFacts {
  /** True if its end is missing, and no process is writing it. */
  readonly isCutOff: boolean
  readonly damage?: object | undefined
  readonly isRecording: () => boolean
}

export function runStatus(
  { exit, isStopped }: { readonly exit: RunExit | undefined; readonly isStopped: boolean },
  { isCutOff, damage, isRecording }: TapeFacts,
): RunStatus {
  if (damage !== undefined) return 'damaged'
  if (exit === undefined) return isStopped ? 'stopped' : isRecording() ? 'recording' : 'killed'
  if (isCutOff) return 'cut off'
  if (exit.signal !== undefined) return 'killed'
  return exit.error !== undefined || (exit.code ?? 0) !== 0 ? 'failed' : 'done'
}

/** The reason for the status of a run; undefined if the status says everything. */
export function runEnd(run: {
  readonly status: RunStatus
  readonly exit?: RunExit | undefined
}): string | undefined {
  const { status, exit } = run
  if (exit?.error !== undefined)
    return `${errorName(exit.error)}: ${exit.error.message.split('\n')[0]}`
  if (exit?.signal !== undefined) return exit.signal
  if (status === 'stopped') return 'an offline branch stops where its parent has no answer'
  if (exit === undefined && status === 'killed') return 'no end was recorded'
  return exit?.code ? `exit code ${exit.code}` : undefined
}

/**
 * Counts of a run, the same in every list, page and receipt. A step is an operation on the tape. A
 * tool call that appears only in the conversation, such as 2.1, is listed but not counted as a step.
 */
export interface StepCounts {
  readonly steps: number
  readonly inferred: number
}

export const countSteps = ({
  steps,
  recordedSteps,
}: {
  readonly steps: readonly unknown[]
  readonly recordedSteps: readonly unknown[]
}): StepCounts => ({
  steps: recordedSteps.length,
  inferred: steps.length - recordedSteps.length,
})

/** `4 steps, 2 inferred tool calls`. */
export const stepCountsText = ({ steps, inferred }: StepCounts): string =>
  [plural(steps, 'step'), ...(inferred > 0 ? [plural(inferred, 'inferred tool call')] : [])].join(
    ', ',
  )

/** Number of answered model calls, and of those that report tokens. */
export interface CountedCalls {
  readonly answered: number
  readonly counted: number
}

export function countCalls(steps: readonly Pick<Step, 'kind' | 'state' | 'usage'>[]): CountedCalls {
  const answered = steps.filter(({ kind, state }) => kind === 'model' && state !== 'failed')
  return {
    answered: answered.length,
    counted: answered.filter(({ usage }) => usage !== undefined).length,
  }
}

/** Tokens of a run. A stream may end without counts: then they are unknown, not 0. */
export function tokensText(
  { usage }: Pick<RunTotals, 'usage'>,
  { answered, counted }: CountedCalls,
): string {
  if (answered > 0 && counted === 0) return 'tokens unknown'
  const { input, cachedInput, cacheWrite, output } = usage
  const sum = `${count(input + cachedInput + cacheWrite)} tokens in, ${count(output)} out`
  return counted < answered ? `${sum} in ${counted} of ${answered} calls` : sum
}

/** Cost of a run. If prices are missing, the known part and the number of calls without a price. */
export function costText(
  totals: Pick<RunTotals, 'costUsd' | 'knownCostUsd' | 'unknownCost' | 'modelCalls'>,
): string {
  const { costUsd, knownCostUsd, unknownCost, modelCalls } = totals
  if (costUsd !== undefined) return cost(costUsd)
  if (unknownCost.length === modelCalls || knownCostUsd === 0) return 'cost unknown'
  return `${cost(knownCostUsd)} + ${plural(unknownCost.length, 'call')} without a price`
}
