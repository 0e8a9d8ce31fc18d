import { originOf } from '@retake/tape'
import type { Step, Tape } from '@retake/tape'
import type { RunStatus } from './run-head.js'
import type { Badge, Row, RowState } from './step-rows.js'

/** A step as a list shows it. Who asked for a recorded step is not among it: that needs all answers. */
export function rowOf(tape: Tape, step: Step, status: RunStatus): Row {
  const { usage } = step
  return {
    label: step.label,
    seq: step.seq,
    kind: step.kind,
    state: stateOf(step, status),
    badge: badgeOf(tape, step),
    title: step.title,
    at: step.at,
    latencyMs: step.latencyMs,
    lane: step.lane,
    provider: step.provider,
    model: step.model,
    tool: step.kind === 'tool' ? step.call()?.name : undefined,
    tokensIn: usage && usage.input + usage.cachedInput + usage.cacheWrite,
    tokensOut: usage?.output,
    costUsd: step.costUsd,
    error: step.error,
    parent: step.inferred ? step.parent : undefined,
    within: step.within.map(({ kind, name }) => `${kind} ${name}`),
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
  return origin ?? 'live'
}
