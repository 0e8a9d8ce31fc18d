import type { GuardStatus } from '@retake/tape/guards'
import type { CallFilter, JudgedCall } from './compiled-rule.js'
import type { Names } from '../data/name-pattern.js'
import { TaintTracker } from './taint-tracker.js'

/** Counts the calls that a rule looks back on: a total, and the numbers of the latest ones. */
class CallCounter {
  #total = 0
  /** Calls in progress. They count unless it turns out that they never started. */
  readonly #pending = new Set<number>()
  readonly #last: number[] = []

  constructor(readonly capacity: number) {}

  begin(number: number): void {
    this.#pending.add(number)
  }

  /** Ends a call, which may not have been announced with `begin`. */
  settle(number: number, isCounted: boolean): void {
    this.#pending.delete(number)
    if (!isCounted) return
    this.#total += 1
    if (this.capacity === 0) return
    let at = this.#last.length
    while (at > 0 && (this.#last[at - 1] ?? 0) > number) at -= 1
    this.#last.splice(at, 0, number)
    if (this.#last.length > this.capacity) this.#last.shift()
  }

  /** Removes a number. Higher numbers are decremented. */
  closeGap(number: number): void {
    const moved = [...this.#pending].map((each) => (each > number ? each - 1 : each))
    this.#pending.clear()
    for (const each of moved) this.#pending.add(each)
    for (let at = this.#last.length - 1; at >= 0 && (this.#last[at] ?? 0) > number; at -= 1)
      this.#last[at] = (this.#last[at] ?? 0) - 1
  }

  /** True if there were at least `count` calls, counted from number `since` if it is given. */
  hasAtLeast(count: number, since: number | undefined): boolean {
    if (since === undefined) return this.total >= count
    let found = 0
    for (let at = this.#last.length - 1; at >= 0 && (this.#last[at] ?? 0) >= since; at -= 1)
      found += 1
    if (found >= count) return true
    for (const number of this.#pending) if (number >= since) found += 1
    return found >= count
  }

  get total(): number {
    return this.#total + this.#pending.size
  }
}

export interface PastCall extends JudgedCall {
  readonly status: GuardStatus
  readonly output: unknown
  /** The thrown error. Its text is as untrusted as a result. */
  readonly error?: unknown
  /** True if the tool was started, now or in an earlier run. Default: true unless it was denied. */
  readonly started?: boolean
}

/** Calls that rules look back on. */
export interface Watch {
  readonly filter: CallFilter
  readonly onlyDone: boolean
  /** Number of latest calls to remember; 0 if a total is enough. */
  readonly capacity: number
}

/** The facts about earlier calls that a policy needs. */
export interface LooksBack {
  readonly watches: readonly Watch[]
  readonly taints: readonly { readonly from: Names; readonly minLength: number }[]
}

interface PendingCall {
  number: number
  readonly counters: readonly CallCounter[]
}

/**
 * The calls of a run so far, for rules that look back. Stores only what the policy needs: totals, the
 * numbers of the latest calls, and a limited index of untrusted text.
 */
export class CallHistory {
  readonly counters: readonly CallCounter[]
  readonly taints: readonly TaintTracker[]
  /** Number of the last allowed call. */
  number = 0
  readonly #watches: readonly Watch[]
  readonly #pending = new Map<object, PendingCall>()

  constructor({ watches, taints }: LooksBack) {
    this.#watches = watches
    this.counters = watches.map(({ capacity }) => new CallCounter(capacity))
    this.taints = taints.map(({ from, minLength }) => new TaintTracker(from, minLength))
  }

  /** True if rules need the results and errors of tools. */
  get followsText(): boolean {
    return this.taints.length > 0
  }

  /** Counts a call from its start, so that concurrent calls cannot exceed a limit. */
  begin(call: JudgedCall, token: object): void {
    if (this.#watches.length === 0) return
    this.number += 1
    const counters = this.#countersFor(call, (watch) => !watch.onlyDone)
    for (const counter of counters) counter.begin(this.number)
    this.#pending.set(token, { number: this.number, counters })
  }

  /** Uncounts a call that began. */
  withdraw(token: object): void {
    const pending = this.#pending.get(token)
    if (pending === undefined) return
    this.#pending.delete(token)
    for (const counter of pending.counters) counter.settle(pending.number, false)
    this.#closeGap(pending.number)
  }

  /** Adds the result of a call, which comes from the tool or from a tape. */
  add(call: PastCall, token?: object): void {
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

  /** Removes the number of a call that never started. */
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

export const wasMade = ({ status, started }: PastCall): boolean => started ?? status !== 'denied'
