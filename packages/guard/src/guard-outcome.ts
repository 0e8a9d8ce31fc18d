import { type BodyForm, encodeBody, type RecordedError, recordError } from '@retake/tape/format'
import type { Drift, ExitReason, GuardFacts, GuardIntent, GuardStatus } from '@retake/tape/guards'
import type { Operation } from '@retake/engine/hook'
import { type Denial, GuardError } from './denials/guard-error.js'

/** Outcome of a call, as recorded on the tape. */
export type Outcome =
  | { readonly value: unknown }
  | { readonly error: unknown; readonly recorded?: RecordedError }
  | {
      readonly as: BodyForm | undefined
      readonly body: Uint8Array
      readonly recorded: RecordedError | undefined
    }

/** Why a call is refused, and the error that caused it, if any. */
export interface Refusal {
  readonly denial: Denial
  readonly cause?: unknown
}

/** Records the outcome of a call and delivers it to the agent. */
export function commit(operation: Operation, guard: GuardFacts, outcome: Outcome): void {
  if ('error' in outcome) {
    const { error, recorded = recordError(error) } = outcome
    operation.complete({ type: 'result', guard, error: recorded }, undefined, error)
  } else if ('value' in outcome) {
    const { as, body } = encodeBody(outcome.value)
    operation.complete({ type: 'result', as, guard }, body)
  } else {
    const { as, body, recorded } = outcome
    operation.complete(
      as !== undefined && recorded === undefined
        ? { type: 'result', guard, as }
        : { type: 'result', guard, ...(as && { as }), ...(recorded && { error: recorded }) },
      body,
    )
  }
}

export function commitRefusal(
  operation: Operation,
  { denial, cause }: Refusal,
  facts?: Partial<GuardFacts>,
): void {
  const { code, exitReason } = denial
  const error = new GuardError(denial, cause ? { cause } : undefined)
  // The stack shows where the call was made, not where the guard created the error.
  const { event } = operation.action
  const site = event.type === 'call' ? event.site : undefined
  error.stack = `${error.name}: ${error.message}${site === undefined ? '' : `\n    at ${site}`}`
  const stopped = exitReason === undefined ? 'denied' : 'stopped'
  const status: GuardStatus = code === 'CALL_IN_DOUBT' ? 'in doubt' : stopped
  commit(operation, { ...facts, status, attempts: 0, ...(exitReason && { exitReason }) }, { error })
}

/** The result for the caller. */
export const resultOf = (
  tool: string,
  event: number,
  intent: GuardIntent,
  facts: GuardFacts,
  output: unknown,
  error: unknown,
): GuardResult =>
  ({
    status: facts.status,
    output,
    error,
    step: {
      number: intent.call,
      tool,
      event,
      fingerprint: intent.fingerprint,
      occurrence: intent.occurrence,
    },
    served: facts.served !== undefined,
    exitReason: facts.exitReason,
    drift: facts.drift ?? NO_DRIFT,
    intent,
    facts,
  }) as GuardResult

const NO_DRIFT: GuardResult['drift'] = []

/** Identifies a call in its run. */
export interface GuardedStep {
  /** From 1, in the order of the calls. */
  readonly number: number
  readonly tool: string
  /** Its event on the tape, as in `retake fork --at e<event>`. */
  readonly event: number
  readonly fingerprint: string
  readonly occurrence: number
}

/** Result of a guarded call. It has an output if `status` is `done`. */
export type GuardResult<Output = unknown> = DoneCall<Output> | UndoneCall

/** The tool has run, now or in an earlier run. */
export interface DoneCall<Output = unknown> extends CallRecord {
  readonly status: 'done'
  readonly output: Output
  readonly error: undefined
}

/** The call was denied, stopped or failed, or is in doubt. */
export interface UndoneCall extends CallRecord {
  readonly status: Exclude<GuardStatus, 'done'>
  readonly output: undefined
  /** A `GuardError`, or the value that the tool threw. */
  readonly error: unknown
}

/** The fields that every result has. */
export interface CallRecord {
  readonly step: GuardedStep
  /** True if the result comes from an earlier run and the tool did not run. */
  readonly served: boolean
  readonly exitReason: ExitReason | undefined
  /** Differences between the output and its contract. */
  readonly drift: readonly Drift[]
  /** How the guard decided about the call. */
  readonly intent: GuardIntent
  readonly facts: GuardFacts
}
