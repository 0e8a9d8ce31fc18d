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
import { outsideRuns } from '@retake/engine/hook'

/** Names a call among those of a run: which call, the how manyth time, inside which other. */
export const callKey = (fingerprint: string, occurrence: number, within?: string): string =>
  `${within === undefined ? '' : `${within}/`}${fingerprint}-${occurrence}`

/**
 * Outcomes of all guarded calls, over one or more tapes, read from the
 * oldest on. A call that was done stays done, whatever came later. One in doubt
 * stays in doubt until it was really made again: being denied, or not being made,
 * settles nothing.
 */
export class CallLedger implements EarlierCalls {
  readonly #calls = new Map<string, EarlierCall>()

  /** With `isNestedOnly` calls of the agent itself are left out: a session serves those. */
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

  /** All calls of a guard that were started, in the order they were first made. */
  callsOf(guard: string): readonly EarlierCall[] {
    return [...this.#calls.values()].filter(({ intent }) => intent.guard === guard)
  }

  /** Calls that were under way when a run was stopped, in the order they were first made. */
  inDoubt(): readonly EarlierCall[] {
    return [...this.#calls.values()].filter(({ facts }) => facts === undefined)
  }

  #add(run: string, call: GuardedCallOnTape): void {
    const { intent, facts, state } = call
    const { guard, fingerprint, occurrence, within } = intent
    const key = `${callKey(fingerprint, occurrence, within)} ${guard}`
    const known = this.#calls.get(key)
    if (known?.facts?.status === 'done') return
    // Nothing ran: what is known of it stays.
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

/** Codes of results that a tool gave and nobody got. */
const THROWN_AWAY: ReadonlySet<unknown> = new Set(['CONTRACT_DRIFT', 'GUARD_RESULT_NOT_RECORDABLE'])

/**
 * True if a tool ran and its answer was not waited for, or not handed on, or it was refused
 * something in the middle: it may well have had its effect. What a tool says itself, an error
 * for example, is an answer.
 */
const isUnheard = (
  { status, attempts, served, acted }: GuardFacts,
  error: RecordedError | undefined,
): boolean =>
  attempts !== 0 &&
  served === undefined &&
  (status === 'stopped' || acted === true || (status === 'failed' && THROWN_AWAY.has(error?.code)))

/** The calls inside calls of the tape that a session goes on with: it serves only those of the agent itself. */
export function nestedCallsOn(tape: string): EarlierCalls {
  const ledger = new CallLedger()
  ledger.addTape(
    outsideRuns(() => openTape(tape)),
    { isNestedOnly: true },
  )
  return ledger
}

/** A call of an earlier run, with what became of it. */
export interface EarlierCall {
  readonly tool: string
  readonly intent: GuardIntent
  /** Missing when it is in doubt: it may have had its effect, and nobody saw its answer. */
  readonly facts: GuardFacts | undefined
  /** Its result; of a call in doubt, its start. */
  readonly from: ServedFrom
  readonly error: RecordedError | undefined
  args(): unknown
  /** The result as it is stored; read on demand. */
  result(): { readonly as: BodyForm | undefined; readonly body: Uint8Array }
}

/** Calls that earlier runs have completed. */
export interface EarlierCalls {
  /** The nth time that this very call was made of a guard, by the agent or inside another call. */
  find(
    guard: string,
    fingerprint: string,
    occurrence: number,
    within?: string,
  ): EarlierCall | undefined
}
