import type { Step, Tape, TapeError } from '@retake/tape'
import type { Row } from './step-rows.js'

/** The place of a step whose records are damaged, or cannot be taken apart: its number and time, and why. */
export function unreadableRow(tape: Tape, step: Step, error: TapeError): Row {
  return {
    label: step.label,
    seq: step.seq,
    kind: kindOf(tape, step.seq),
    state: 'failed',
    badge: 'live',
    title: 'This step cannot be read',
    at: step.at,
    latencyMs: undefined,
    lane: 0,
    provider: undefined,
    model: undefined,
    tool: undefined,
    tokensIn: undefined,
    tokensOut: undefined,
    costUsd: undefined,
    error: `${error.what} ${error.why}`,
    parent: undefined,
    within: [],
    inferred: step.inferred,
  }
}

/** By the event alone. */
function kindOf(tape: Tape, seq: number): Row['kind'] {
  const event = tape.event(seq)
  if (event.type === 'call') return event.kind === 'process' ? 'process' : 'tool'
  return event.type === 'note' ? 'mark' : 'http'
}
