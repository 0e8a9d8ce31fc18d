import { originOf } from '@retake/tape'
import type { Step, Tape } from '@retake/tape'
import { cutText } from './clip.js'
import type { RunStatus } from './run-head.js'
import type { Badge, Row, RowState } from './step-rows.js'

/** Characters of a title or an error in a list. */
const LINE = 300

export interface RowOptions {
  readonly status: RunStatus
  /** The lane a step is drawn in. */
  readonly laneOf: (step: Step) => number
}

/** A step as a list shows it. Who asked for a recorded step is not among it: that needs all answers. */
export function rowOf(tape: Tape, step: Step, { status, laneOf }: RowOptions): Row {
  const { usage, error } = step
  return {
    label: step.label,
    seq: step.seq,
    kind: step.kind,
    state: stateOf(step, status),
    badge: badgeOf(tape, step),
    title: cutText(step.title, LINE),
    at: step.at,
    latencyMs: step.latencyMs,
    lane: laneOf(step),
    provider: step.provider,
    model: step.model === undefined ? undefined : cutText(step.model, LINE),
    tool: step.toolName === undefined ? undefined : cutText(step.toolName, LINE),
    tokensIn: usage && usage.input + usage.cachedInput + usage.cacheWrite,
    tokensOut: usage?.output,
    costUsd: step.costUsd,
    error: error === undefined ? undefined : cutText(error, LINE),
    parent: step.inferred ? step.parent : undefined,
    within: step.within.map(({ kind, name }) => `${kind} ${cutText(name, LINE)}`),
    inferred: step.inferred,
  }
}

/** While a run goes on, a step without an answer is neither in doubt nor given up. */
function stateOf(step: Step, status: RunStatus): RowState {
  const isOpen = step.state === 'in doubt' || (step.state === 'aborted' && step.error === undefined)
  return status === 'recording' && isOpen ? 'running' : step.state
}

function badgeOf(tape: Tape, step: Step): Badge {
  const origin = originOf(tape, step)
  if (step.kind === 'mark' && origin === 'served') return 're-executed'
  // A guard had the answer already, from the run that it resumes.
  if (step.guard?.served !== undefined && origin !== 'edited') return 'served'
  return origin ?? 'live'
}
