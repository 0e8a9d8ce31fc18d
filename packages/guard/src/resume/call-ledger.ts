import { outsideRuns, revealedTape } from '@retake/engine/hook'
import {
  type BodyForm,
  type GuardedCallOnTape,
  type GuardFacts,
  type GuardIntent,
  readGuards,
  type RecordedError,
  type ServedFrom,
  type Tape,
} from '@retake/tape/format'
import { openTape } from '@retake/tape/node'
import type { GuardedTool } from '../guarded-tool.js'

/** Identifies a call in a run: its fingerprint, occurrence and enclosing call. */
export const callKey = (fingerprint: string, occurrence: number, within?: string): string =>
  `${within === undefined ? '' : `${within}/`}${fingerprint}-${occurrence}`

/**
 * Outcomes of guarded calls over one or more tapes, added oldest first. A call that is done stays
 * done. A call in doubt stays in doubt until it is made again.
 */
export class CallLedger implements EarlierCalls {
  readonly #calls = new Map<string, EarlierCall>()

  /** With `isNestedOnly`, ignores calls of the agent itself, which the session serves. */
  addTape(tape: Tape, { isNestedOnly = false } = {}): void {
    for (const call of readGuards(tape).calls) {
      if (call.isNested || !isNestedOnly) this.#add(tape.run.id, call)
    }
  }

  find(
    guard: string,
    fingerprint: string,
    occurrence: number,
    within?: string,
  ): EarlierCall | undefined {
    return this.#calls.get(`${callKey(fingerprint, occurrence, within)} ${guard}`)
  }

  /** Started calls of a guard, in the order of their first start. */
  callsOf(guard: string): readonly EarlierCall[] {
    return [...this.#calls.values()].filter(({ intent }) => intent.guard === guard)
  }

  /** Calls in doubt, in the order of their first start. */
  inDoubt(): readonly EarlierCall[] {
    return [...this.#calls.values()].filter(({ facts }) => facts === undefined)
  }

  #add(run: string, call: GuardedCallOnTape): void {
    const { intent, facts, state } = call
    const { guard, fingerprint, occurrence, within } = intent
    const key = `${callKey(fingerprint, occurrence, within)} ${guard}`
    const known = this.#calls.get(key)
    if (known?.facts?.status === 'done') return
    // It did not run, so that nothing changes.
    const wasStarted = facts === undefined ? state === 'in doubt' : facts.attempts !== 0
    if (!wasStarted && state !== 'done' && known !== undefined) return
    if (facts === undefined && state !== 'in doubt') return
    this.#calls.set(key, {
      tool: call.tool,
      intent,
      facts: facts && isUnheard(facts, call.error) ? undefined : facts,
      from: facts?.served ?? { run, seq: call.resultSeq ?? call.callSeq },
      error: call.error,
      args: () => call.args(),
      result: () => call.result(),
    })
  }
}

/** Codes of results that were not returned. */
const THROWN_AWAY: ReadonlySet<unknown> = new Set(['CONTRACT_DRIFT', 'GUARD_RESULT_NOT_RECORDABLE'])

/**
 * True if a tool ran and its result was not awaited or not returned, or it was refused something
 * after it had acted: it may have had its effect. An error that it threw is a result.
 */
const isUnheard = (
  { status, attempts, served, acted }: GuardFacts,
  error: RecordedError | undefined,
): boolean =>
  attempts !== 0 &&
  served === undefined &&
  (status === 'stopped' || acted === true || (status === 'failed' && THROWN_AWAY.has(error?.code)))

/** Nested calls on the tape that a session continues, which it does not serve itself. */
export function nestedCallsOn(tape: string): EarlierCalls {
  const ledger = new CallLedger()
  ledger.addTape(
    outsideRuns(() => revealedTape(openTape(tape))),
    { isNestedOnly: true },
  )
  return ledger
}

/** A call of an earlier run, with what became of it. */
export interface EarlierCall {
  readonly tool: string
  readonly intent: GuardIntent
  /** Missing if it is in doubt. */
  readonly facts: GuardFacts | undefined
  /** Its result, or the start of a call in doubt. */
  readonly from: ServedFrom
  readonly error: RecordedError | undefined
  args(): unknown
  /** The result as it is stored; read on demand. */
  result(): { readonly as: BodyForm | undefined; readonly body: Uint8Array }
}

/** Calls that earlier runs have completed. */
export interface EarlierCalls {
  find(
    guard: string,
    fingerprint: string,
    occurrence: number,
    within?: string,
  ): EarlierCall | undefined
}

/** A call that started and has no result: it may have had its effect. */
export interface CallInDoubt {
  readonly tool: string
  readonly args: unknown
  readonly fingerprint: string
  readonly occurrence: number
  /** Its idempotency key. */
  readonly key: string | undefined
  /** Its start on the tape of the stopped run. */
  readonly from: ServedFrom
}

/** `fail`: not made, with an error. `retry`: made again. `skip`: not made, without error or output. */
export type InDoubtDecision = 'fail' | 'retry' | 'skip'

export type InDoubtChoice = InDoubtDecision | ((call: CallInDoubt) => InDoubtDecision)

export const describeDoubt = (
  call: Pick<EarlierCall, 'tool' | 'intent' | 'args' | 'from'>,
): CallInDoubt => {
  const { fingerprint, occurrence, key } = call.intent
  return { tool: call.tool, args: call.args(), fingerprint, occurrence, key, from: call.from }
}

/** Calls on a tape that started and have no result. */
export const underWayOn = (tape: Tape): readonly CallInDoubt[] =>
  readGuards(tape)
    .calls.filter(({ facts, state }) => facts === undefined && state === 'in doubt')
    .map((call) => {
      const { tool, intent, callSeq: seq } = call
      return describeDoubt({
        tool,
        intent,
        args: () => call.args(),
        from: { run: tape.run.id, seq },
      })
    })

/** Idempotent tools are retried. */
export function decideDoubt(
  call: EarlierCall,
  { options }: GuardedTool,
  choice: InDoubtChoice = 'fail',
): InDoubtDecision {
  if (options.idempotent === true || options.idempotencyKey !== undefined) return 'retry'
  return typeof choice === 'function' ? choice(describeDoubt(call)) : choice
}
