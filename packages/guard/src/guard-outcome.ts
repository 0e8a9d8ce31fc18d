import { types } from 'node:util'
import {
  encodeBody,
  recordError,
  type BodyForm,
  type GuardFacts,
  type GuardIntent,
  type GuardStatus,
  type RecordedError,
} from '@retake/tape/format'
import type { Operation } from '@retake/engine/hook'
import { GuardError, type Denial } from './guard-error.js'
import type { GuardResult } from './guard-result.js'

/** How a call came out, as it goes on the tape. */
export type Outcome =
  | { readonly value: unknown }
  | { readonly error: unknown; readonly recorded?: RecordedError }
  | {
      readonly as: BodyForm | undefined
      readonly body: Uint8Array
      readonly recorded: RecordedError | undefined
    }

/** Why a call is not let through, and what threw, if something did. */
export interface Refusal {
  readonly denial: Denial
  readonly cause?: unknown
}

/** Puts the answer of a call on its tape, from where it reaches the agent. */
export function commit(operation: Operation, guard: GuardFacts, outcome: Outcome): void {
  if ('error' in outcome) {
    const { error, recorded = recordError(error) } = outcome
    const native = runsNothing(error) ? error : undefined
    operation.complete({ type: 'result', guard, error: recorded }, undefined, native)
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

/**
 * True if an error can be handed on as it is: one that runs code of the tool when it is
 * looked at is told as it was recorded. The stack is V8's, a getter in some versions, and
 * reads the message when it is first looked at.
 */
function runsNothing(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return true
  if (types.isProxy(error)) return false
  return Reflect.ownKeys(error).every(
    (key) => key === 'stack' || Object.getOwnPropertyDescriptor(error, key)?.get === undefined,
  )
}

/** The answer of a call that was never started. */
export function commitRefusal(
  operation: Operation,
  { denial, cause }: Refusal,
  facts?: Partial<GuardFacts>,
): void {
  const { exitReason } = denial
  const error = new GuardError(denial, cause ? { cause } : undefined)
  // Where the guard made it says nothing; where the call was made does.
  const { event } = operation.action
  const site = event.type === 'call' ? event.site : undefined
  error.stack = `${error.name}: ${error.message}${site === undefined ? '' : `\n    at ${site}`}`
  commit(
    operation,
    { ...facts, status: statusOf(denial), attempts: 0, ...(exitReason && { exitReason }) },
    { error },
  )
}

/** Only a call that may have been made already is in doubt; one that a limit stopped, stopped. */
const statusOf = ({ code, exitReason }: Denial): GuardStatus =>
  code === 'CALL_IN_DOUBT' ? 'in doubt' : exitReason === undefined ? 'denied' : 'stopped'

/** The result for the caller. Only calls that are done have an output. */
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
