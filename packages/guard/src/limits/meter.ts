import type { CallUsage } from '@retake/tape/guards'
import type { CallBounds } from '../bounds/call-bounds.js'
import type { Denial } from '../denials/guard-error.js'
import {
  addCallUsage,
  type Amount,
  beyond,
  capInNanoUsd,
  larger,
  NOTHING,
  sum,
  toUsage,
  usedAmount,
} from './amount.js'
import { type CallQueue, type Permit, Semaphore } from './call-queue.js'
import type { Clock } from './clock.js'
import { circuitDenial, limitErrors } from './limit-errors.js'
import type { RequestedAmount } from './limiter.js'
import { type BreakerLimits, type CallLimits, type Limits, mergeLimits } from './limits.js'

export class ToolMeters {
  readonly all: readonly Meter[]
  /** A call needs a permit of each. */
  readonly semaphores: readonly Semaphore[]
  readonly breaker: CircuitBreaker | undefined
  /** The limits that require a reservation. */
  readonly requested: RequestedAmount
  readonly allowance: CallLimits
  /** True if a limit depends on time. Otherwise the clock is not read, because that is slow. */
  readonly needsTime: boolean
  #most: Amount | undefined

  constructor(tool: string, limits: readonly Limits[], run: Meter) {
    const own = limits.flatMap(({ tools = {} }) => (Object.hasOwn(tools, tool) ? tools[tool] : []))
    const found = own.filter((each) => each !== undefined)
    this.all = found.length === 0 ? [run] : [run, new Meter(mergeLimits(found), `tools/${tool}/`)]
    this.allowance = mergeLimits([run.limits, ...found])
    this.semaphores = this.all.flatMap(({ semaphore }) => semaphore ?? [])
    const { breaker } = this.allowance
    this.breaker = breaker && new CircuitBreaker(breaker)
    this.needsTime =
      breaker !== undefined || this.all.some(({ nanoUsdPerMinute }) => nanoUsdPerMinute.isLimited)
    this.requested = {
      tokens: this.all.find((each) => each.tokens.isLimited)?.scope,
      costUsd: this.all.find((each) => each.nanoUsd.isLimited || each.nanoUsdPerMinute.isLimited)
        ?.scope,
    }
  }

  /** Later calls of a tool that exceeded its reservation reserve at least this much. */
  usedMore(used: Amount): void {
    this.#most = this.atLeastAsBefore(used)
  }

  atLeastAsBefore(amount: Amount): Amount {
    return this.#most === undefined ? amount : larger(this.#most, amount)
  }
}

export type CircuitOutcome = 'success' | 'failure' | 'none'

/** Opens after consecutive failures. After a pause, it is half-open: one trial call is allowed. */
export class CircuitBreaker {
  #failures = 0
  #openUntil: number | undefined
  #isTried = false

  constructor(readonly limits: BreakerLimits) {}

  /** Milliseconds until a call is allowed; undefined if one is allowed now. */
  waitMs(now: number): number | undefined {
    if (this.#openUntil === undefined) return undefined
    if (now < this.#openUntil) return this.#openUntil - now
    return this.#isTried ? 0 : undefined
  }

  /** Admits a call. Returns true for the trial call of a half-open circuit. */
  admit(): boolean {
    if (this.#openUntil === undefined) return false
    this.#isTried = true
    return true
  }

  /** True if a call that was admitted earlier may still start. */
  mayStart(isTry: boolean): boolean {
    return this.#openUntil === undefined || isTry
  }

  get failures(): number {
    return this.#failures
  }

  settle(outcome: CircuitOutcome, isTry: boolean, now: number): void {
    // Calls that started before the circuit opened have no effect on it.
    if (this.#openUntil !== undefined && !isTry) return
    if (isTry) this.#isTried = false
    if (outcome === 'none') return
    if (outcome === 'success') {
      this.#failures = 0
      this.#openUntil = undefined
      return
    }
    this.#failures += 1
    if (isTry || this.#failures >= this.limits.failures)
      this.#openUntil = now + this.limits.cooldownMs
  }
}

/** Reservations and spending stay within the cap, unless a call exceeds its reservation. */
class Budget {
  spent = 0
  reserved = 0
  /** The part of `spent` that earlier runs spent. */
  earlier = 0

  constructor(
    readonly cap: number,
    readonly isLimited: boolean,
  ) {}

  fits(amount: number): boolean {
    return this.spent + this.reserved + amount <= this.cap
  }

  get left(): number {
    return Math.max(0, this.cap - this.spent - this.reserved)
  }

  restore(amount: number, _at: number): void {
    this.spent += amount
    this.earlier += amount
  }

  settle(reserved: number, used: number, _now: number): void {
    this.reserved -= reserved
    this.spent += used
  }
}

const MINUTE_MS = 60_000

/** A budget for any sixty seconds. Usage is reserved until the call ends, and counts from then on. */
class MinuteBudget extends Budget {
  /** Spending, oldest first. Times are rounded up to milliseconds. */
  readonly #spent: { readonly at: number; amount: number; earlier: number }[] = []
  #oldest = 0

  override restore(amount: number, at: number): void {
    this.#spendAt(at, amount, amount)
  }

  override settle(reserved: number, used: number, now: number): void {
    this.reserved -= reserved
    this.#spendAt(now, used, 0)
  }

  #spendAt(now: number, amount: number, earlier: number): void {
    if (amount === 0 || !this.isLimited) return
    const at = Math.ceil(now)
    const last = this.#spent.at(-1)
    // Entries stay in order, even if the time does not advance.
    if (last !== undefined && last.at >= at) {
      last.amount += amount
      last.earlier += earlier
    } else this.#spent.push({ at, amount, earlier })
    this.spent += amount
    this.earlier += earlier
  }

  /** Removes spending that is more than a minute old. */
  forgetUntil(now: number): void {
    let first = this.#spent[this.#oldest]
    while (first !== undefined && first.at + MINUTE_MS <= now) {
      this.spent -= first.amount
      this.earlier -= first.earlier
      this.#oldest += 1
      first = this.#spent[this.#oldest]
    }
    if (this.#oldest > 1_000 && this.#oldest * 2 > this.#spent.length)
      this.#oldest -= this.#spent.splice(0, this.#oldest).length
  }

  /** Milliseconds until the amount fits; undefined if that is unknown. */
  waitFor(amount: number, now: number): number | undefined {
    let missing = this.spent + this.reserved + amount - this.cap
    for (let at = this.#oldest; at < this.#spent.length; at += 1) {
      if (missing <= 0) break
      const entry = this.#spent[at]
      if (entry === undefined) break
      missing -= entry.amount
      if (missing <= 0) return entry.at + MINUTE_MS - now
    }
    return undefined
  }
}

/** Counts calls against the limits of the run or of a tool. */
export class Meter {
  readonly calls: Budget
  readonly tokens: Budget
  readonly nanoUsd: Budget
  readonly nanoUsdPerMinute: MinuteBudget
  readonly semaphore: Semaphore | undefined
  /** Number of admitted calls that have not ended. */
  underWay = 0

  /** `scope` is part of rule names: empty for the run, `tools/<name>/` for a tool. */
  constructor(
    readonly limits: CallLimits,
    readonly scope: string,
  ) {
    const { calls, tokens, costUsd, costUsdPerMinute, concurrency } = limits
    this.calls = new Budget(calls ?? Infinity, calls !== undefined)
    this.tokens = new Budget(tokens ?? Infinity, tokens !== undefined)
    this.nanoUsd = new Budget(capInNanoUsd(costUsd ?? Infinity), costUsd !== undefined)
    this.nanoUsdPerMinute = new MinuteBudget(
      capInNanoUsd(costUsdPerMinute ?? Infinity),
      costUsdPerMinute !== undefined,
    )
    this.semaphore = concurrency === undefined ? undefined : new Semaphore(Math.floor(concurrency))
  }

  /** Denies another call with this reservation if it exceeds a limit. */
  refusal(tool: string, amount: Amount, now: number): Denial | undefined {
    const { scope, calls, limits } = this
    const { concurrency, queue } = limits
    if (!calls.fits(1)) return limitErrors.LIMIT_CALLS(tool, scope, calls.cap)
    if (concurrency !== undefined && queue !== undefined && this.underWay >= concurrency + queue)
      return limitErrors.LIMIT_CONCURRENCY(tool, scope, concurrency, queue)
    return this.shortage(tool, amount, now)
  }

  shortage(tool: string, { tokens, nanoUsd }: Amount, now: number): Denial | undefined {
    const { scope, nanoUsdPerMinute: minute } = this
    if (!this.tokens.fits(tokens)) return limitErrors.LIMIT_TOKENS(tool, scope, tokens, this.tokens)
    if (!this.nanoUsd.fits(nanoUsd))
      return limitErrors.LIMIT_COST(tool, scope, nanoUsd, this.nanoUsd)
    if (!minute.isLimited) return undefined
    minute.forgetUntil(now)
    if (minute.fits(nanoUsd)) return undefined
    const waitMs = minute.waitFor(nanoUsd, now)
    return limitErrors.LIMIT_COST_PER_MINUTE(tool, scope, nanoUsd, minute, waitMs)
  }

  reserve({ tokens, nanoUsd }: Amount): void {
    this.tokens.reserved += tokens
    this.nanoUsd.reserved += nanoUsd
    this.nanoUsdPerMinute.reserved += nanoUsd
  }

  /** Adds spending of an earlier run. `at` is a time on the clock of this process. */
  restore({ tokens, nanoUsd }: Amount, at: number): void {
    this.tokens.restore(tokens, at)
    this.nanoUsd.restore(nanoUsd, at)
    this.nanoUsdPerMinute.restore(nanoUsd, at)
  }

  settle(reserved: Amount, used: Amount, now: number): void {
    this.tokens.settle(reserved.tokens, used.tokens, now)
    this.nanoUsd.settle(reserved.nanoUsd, used.nanoUsd, now)
    this.nanoUsdPerMinute.settle(reserved.nanoUsd, used.nanoUsd, now)
  }
}

/** The permits of running calls, for their nested calls. */
const permitsOf = new WeakMap<CallBounds, readonly Permit[]>()

/** The usage and permits of a call until it ends. Created by `Limiter.admit`. */
export class Reservation {
  #permits: readonly Permit[] = []
  #isOver = false
  #reportedUsage: CallUsage | undefined
  /** Usage that an abandoned tool reported before its call was settled. */
  #usageBeforeEnd: CallUsage | undefined
  #minimum = NOTHING
  #counted = NOTHING
  /** Usage of the attempts before the last one. */
  #before = NOTHING
  #overuse: CallUsage | undefined
  readonly #isTry: boolean

  constructor(
    readonly tool: string,
    readonly amount: Amount,
    readonly meters: ToolMeters,
    readonly queue: CallQueue,
    readonly clock: Clock,
  ) {
    this.#isTry = meters.breaker?.admit() ?? false
    for (const meter of meters.all) {
      meter.calls.spent += 1
      meter.underWay += 1
      meter.reserve(amount)
    }
  }

  get reserved(): CallUsage | undefined {
    return toUsage(this.amount)
  }

  /** Waits until the call may start. On a denial, the reservation is released. */
  ready(
    bounds: CallBounds,
    signal?: AbortSignal,
  ): Denial | undefined | Promise<Denial | undefined> {
    const { semaphores } = this.meters
    if (signal?.aborted === true) return this.#giveUp(limitErrors.CALL_ABORTED(this.tool))
    if (semaphores.length === 0) return this.#start([])
    const taken = this.queue.enter(
      semaphores,
      bounds.around.flatMap((each) => permitsOf.get(each) ?? []).toReversed(),
      signal,
    )
    const start = (mine: readonly Permit[] | undefined): Denial | undefined => {
      if (mine === undefined) return this.#giveUp(limitErrors.CALL_ABORTED(this.tool))
      permitsOf.set(bounds, mine)
      return this.#start(mine)
    }
    return taken instanceof Promise ? taken.then(start) : start(taken)
  }

  /** The final usage of the call over all attempts. */
  get counted(): Amount {
    return sum(this.#before, this.#counted)
  }

  /** Reserves usage for another attempt, or returns a denial. */
  again(usage: CallUsage | undefined): Denial | undefined {
    const now = this.#now()
    const used = usedAmount(usage, this.amount)
    for (const meter of this.meters.all) meter.settle(this.amount, used, now)
    this.#before = sum(this.#before, used)
    this.#noteBeyond(used)
    let denial: Denial | undefined
    for (const meter of this.meters.all) denial ??= meter.shortage(this.tool, this.amount, now)
    for (const meter of this.meters.all) meter.reserve(denial ? NOTHING : this.amount)
    if (denial !== undefined) this.#close('failure')
    return denial
  }

  /**
   * Ends the reservation with the usage of the last attempt. If the tool was abandoned, the whole
   * reservation counts as used. Returns the usage beyond the reservation.
   */
  settle(
    usage: CallUsage | undefined,
    outcome: CircuitOutcome,
    isGivenUp = false,
  ): CallUsage | undefined {
    if (this.#isOver) return this.#overuse
    this.#reportedUsage =
      this.#usageBeforeEnd === undefined ? usage : addCallUsage(usage, this.#usageBeforeEnd)
    this.#minimum = isGivenUp ? this.amount : NOTHING
    this.#counted = larger(usedAmount(this.#reportedUsage, this.amount), this.#minimum)
    const now = this.#now()
    for (const meter of this.meters.all) meter.settle(this.amount, this.#counted, now)
    this.#close(outcome)
    this.#noteBeyond(this.#counted)
    return this.#overuse
  }

  /** Counts usage that a tool reports after its call. Returns the additional amount. */
  late(usage: CallUsage): Amount {
    if (!this.#isOver) {
      this.#usageBeforeEnd = addCallUsage(this.#usageBeforeEnd, usage)
      return NOTHING
    }
    this.#reportedUsage = addCallUsage(this.#reportedUsage, usage)
    const used = larger(usedAmount(this.#reportedUsage, this.amount), this.#minimum)
    const more = beyond(used, this.#counted)
    this.#counted = larger(used, this.#counted)
    for (const meter of this.meters.all) meter.settle(NOTHING, more, this.#now())
    return more
  }

  release(): void {
    if (this.#isOver) return
    for (const meter of this.meters.all) {
      meter.calls.spent -= 1
      meter.settle(this.amount, NOTHING, 0)
    }
    this.#close('none')
  }

  /** Checks again, because other calls may have failed or exceeded their reservation meanwhile. */
  #start(permits: readonly Permit[]): Denial | undefined {
    this.#permits = permits
    const { breaker, all } = this.meters
    const now = this.#now()
    if (breaker !== undefined && !breaker.mayStart(this.#isTry))
      return this.#giveUp(circuitDenial(this.tool, breaker.failures, breaker.waitMs(now)))
    for (const meter of all) {
      const shortage = meter.shortage(this.tool, NOTHING, now)
      if (shortage !== undefined) return this.#giveUp(shortage)
    }
    return undefined
  }

  #now(): number {
    return this.meters.needsTime ? this.clock.now() : 0
  }

  #giveUp(denial: Denial): Denial {
    this.release()
    return denial
  }

  #close(outcome: CircuitOutcome): void {
    this.#isOver = true
    for (const meter of this.meters.all) meter.underWay -= 1
    this.meters.breaker?.settle(outcome, this.#isTry, this.#now())
    if (this.#permits.length > 0) this.queue.leave(this.#permits)
  }

  /** Notes usage beyond the reservation. Does not apply to amounts without a limit or reservation. */
  #noteBeyond(used: Amount): void {
    const { requested } = this.meters
    const { tokens, nanoUsd } = beyond(used, this.amount)
    const more = toUsage({
      tokens: requested.tokens !== undefined || this.amount.tokens > 0 ? tokens : 0,
      nanoUsd: requested.costUsd !== undefined || this.amount.nanoUsd > 0 ? nanoUsd : 0,
    })
    if (more === undefined) return
    this.#overuse = addCallUsage(this.#overuse, more)
    this.meters.usedMore(used)
  }
}
