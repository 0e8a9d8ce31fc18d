import type { GuardStatus } from '@retake/tape/format'
import { CallCounter } from './call-counter.js'
import type { CallFilter, JudgedCall } from './call-filter.js'
import type { Names } from './policy.js'
import { TaintTracker } from './taint-tracker.js'

/** A guarded call that was made. */
export interface PastCall extends JudgedCall {
  readonly status: GuardStatus
  readonly output: unknown
  /** The thrown error: its text is no more to be trusted than a result. */
  readonly error?: unknown
  /**
   * True if the tool was started, now or in the run that the result is served from. Unless set:
   * not when it was denied, otherwise yes.
   */
  readonly started?: boolean
}

/** Calls that rules look back on. */
export interface Watch {
  readonly filter: CallFilter
  /** Only calls that are done count, not those that are under way or went wrong. */
  readonly onlyDone: boolean
  /** How many numbers of the last calls are asked about; 0 when a sum is enough. */
  readonly capacity: number
}

/** The parts of the past that policies use; the history stores nothing else. */
export interface LooksBack {
  readonly watches: readonly Watch[]
  readonly taints: readonly { readonly from: Names; readonly minLength: number }[]
}

interface PendingCall {
  number: number
  readonly counters: readonly CallCounter[]
}

/**
 * The calls of a run so far, for rules that look back. It belongs to one policy and
 * stores only what that needs: sums, the numbers of the last few calls, and
 * an index of untrusted text. So it does not grow with the run, but for that index, which
 * has a limit of its own.
 */
export class CallHistory {
  policy: LooksBack | undefined
  counters: readonly CallCounter[] = []
  taints: readonly TaintTracker[] = []
  /** Of the last call that was let through. */
  number = 0
  #watches: readonly Watch[] = []
  readonly #pending = new Map<object, PendingCall>()
  /** Calls from before it is known what is looked back on. */
  #early: PastCall[] = []

  constructor(policy?: LooksBack) {
    if (policy !== undefined) this.trackFor(policy)
  }

  /** True if what tools return and throw is looked at. */
  get followsText(): boolean {
    return this.taints.length > 0
  }

  /** Says what is looked back on, once. */
  trackFor(policy: LooksBack): void {
    if (this.policy !== undefined) throw new Error('A history is kept for one policy.')
    this.policy = policy
    this.#watches = policy.watches
    this.counters = policy.watches.map(({ capacity }) => new CallCounter(capacity))
    this.taints = policy.taints.map(({ from, minLength }) => new TaintTracker(from, minLength))
    for (const call of this.#early) this.add(call)
    this.#early = []
  }

  /**
   * A call is let through and its answer is still to come: it counts from now on, so that
   * no two take the last place. `add` knows it again by `token`.
   */
  begin(call: JudgedCall, token: object): void {
    if (this.#watches.length === 0) return
    this.number += 1
    const counters = this.#countersFor(call, (watch) => !watch.onlyDone)
    for (const counter of counters) counter.begin(this.number)
    this.#pending.set(token, { number: this.number, counters })
  }

  /** A call has its answer, from the tool or from a tape. */
  add(call: PastCall, token?: object): void {
    if (this.policy === undefined) {
      this.#early.push(call)
      return
    }
    for (const taint of this.taints) taint.add(call)
    if (this.#watches.length === 0) return
    const pending = token && this.#pending.get(token)
    if (token !== undefined) this.#pending.delete(token)
    const isMade = wasMade(call)
    if (pending === undefined && !isMade) return
    if (pending === undefined) this.number += 1
    const number = pending?.number ?? this.number
    const counters = pending?.counters ?? this.#countersFor(call, (watch) => !watch.onlyDone)
    for (const counter of counters) counter.settle(number, isMade)
    if (!isMade) return this.#closeGap(number)
    if (call.status !== 'done') return
    for (const counter of this.#countersFor(call, (watch) => watch.onlyDone))
      counter.settle(number, true)
  }

  /** A call that began was none after all. Others may have begun since: no two get the same number. */
  #closeGap(number: number): void {
    this.number -= 1
    for (const counter of this.counters) counter.closeGap(number)
    for (const pending of this.#pending.values()) if (pending.number > number) pending.number -= 1
  }

  #countersFor(call: JudgedCall, isMeant: (watch: Watch) => boolean): CallCounter[] {
    return this.counters.filter((_, index) => {
      const watch = this.#watches[index]
      return watch !== undefined && isMeant(watch) && watch.filter.fits(call)
    })
  }
}

/** True if it counts as a call: its tool was started. */
export const wasMade = ({ status, started }: PastCall): boolean => started ?? status !== 'denied'
