import type { Denial } from '../guard-error.js'
import { type Amount, capInNanoUsd, larger } from './amount.js'
import { limitErrors } from './limit-errors.js'
import { type BreakerLimits, type CallLimits, type Limits, mergeLimits } from './limits.js'
import { Semaphore } from './call-queue.js'
import type { RequestedAmount } from './limiter.js'

/** The meters of one tool: those of the run and its own. */
export class ToolMeters {
  readonly all: readonly Meter[]
  /** A call needs a permit of each to run. */
  readonly semaphores: readonly Semaphore[]
  readonly breaker: CircuitBreaker | undefined
  /** Amounts that a call has to reserve. */
  readonly requested: RequestedAmount
  readonly allowance: CallLimits
  /** True if a limit depends on time: reading the clock costs more than the rest. */
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
    this.needsTime = breaker !== undefined || this.all.some(({ limitsMinutes }) => limitsMinutes)
    this.requested = {
      tokens: this.all.find(({ limitsTokens }) => limitsTokens)?.scope,
      costUsd: this.all.find(({ limitsMoney }) => limitsMoney)?.scope,
    }
  }

  /** A tool that exceeded its reservation is expected to do so again. */
  usedMore(used: Amount): void {
    this.#most = this.atLeastAsBefore(used)
  }

  atLeastAsBefore(amount: Amount): Amount {
    return this.#most === undefined ? amount : larger(this.#most, amount)
  }
}

/** Effect of a call on the circuit breaker of its tool. */
export type CircuitOutcome = 'success' | 'failure' | 'none'

/** Opens after consecutive failures. Half-open after a pause: exactly one call is allowed. */
export class CircuitBreaker {
  #failures = 0
  #openUntil: number | undefined
  #isTried = false

  constructor(readonly limits: BreakerLimits) {}

  /** Milliseconds until a call may be tried; undefined if one may now. */
  waitMs(now: number): number | undefined {
    if (this.#openUntil === undefined) return undefined
    if (now < this.#openUntil) return this.#openUntil - now
    return this.#isTried ? 0 : undefined
  }

  /** A call is allowed. Returns whether it is the trial of a half-open circuit. */
  admit(): boolean {
    if (this.#openUntil === undefined) return false
    this.#isTried = true
    return true
  }

  /** True if a call that was allowed before may still start. */
  mayStart(isTry: boolean): boolean {
    return this.#openUntil === undefined || isTry
  }

  get failures(): number {
    return this.#failures
  }

  settle(outcome: CircuitOutcome, isTry: boolean, now: number): void {
    // Calls that started before the circuit opened do not change it.
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

/** A budget. Reservations and spending stay below the cap, unless a call exceeds its reservation. */
class Budget {
  spent = 0
  reserved = 0
  /** The part that earlier runs spent. */
  earlier = 0

  constructor(readonly cap: number) {}

  fits(amount: number): boolean {
    return this.spent + this.reserved + amount <= this.cap
  }

  get left(): number {
    return Math.max(0, this.cap - this.spent - this.reserved)
  }

  reserve(amount: number): void {
    this.reserved += amount
  }

  restore(amount: number): void {
    this.spent += amount
    this.earlier += amount
  }

  settle(reserved: number, used: number): void {
    this.reserved -= reserved
    this.spent += used
  }
}

const MINUTE_MS = 60_000

/** A budget for any sixty seconds. Usage counts from the end of a call; until then it is reserved. */
class MinuteBudget extends Budget {
  /** Spending by time, oldest first, in whole milliseconds rounded up. */
  readonly #spent: { readonly at: number; amount: number; earlier: number }[] = []
  #oldest = 0

  spendAt(now: number, amount: number, earlier = 0): void {
    if (amount === 0) return
    const at = Math.ceil(now)
    const last = this.#spent.at(-1)
    // Never earlier than the last entry.
    if (last !== undefined && last.at >= at) {
      last.amount += amount
      last.earlier += earlier
    } else this.#spent.push({ at, amount, earlier })
    this.spent += amount
    this.earlier += earlier
  }

  restoreAt(at: number, amount: number): void {
    this.spendAt(at, amount, amount)
  }

  /** Forgets what is more than a minute ago. */
  passTo(now: number): void {
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

  /** Milliseconds until the amount is free; undefined if unknown. */
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

/** Counts calls against one set of limits: those of the run, or those of a tool. */
export class Meter {
  readonly calls: Budget
  readonly tokens: Budget
  readonly nanoUsd: Budget
  readonly nanoUsdPerMinute: MinuteBudget
  readonly semaphore: Semaphore | undefined
  /** Calls that are allowed and not over. */
  underWay = 0

  /** `scope` goes into the names of rules: empty for the run, `tools/<name>/` for a tool. */
  constructor(
    readonly limits: CallLimits,
    readonly scope: string,
  ) {
    const { calls, tokens, costUsd, costUsdPerMinute, concurrency } = limits
    this.calls = new Budget(calls ?? Infinity)
    this.tokens = new Budget(tokens ?? Infinity)
    this.nanoUsd = new Budget(capInNanoUsd(costUsd ?? Infinity))
    this.nanoUsdPerMinute = new MinuteBudget(capInNanoUsd(costUsdPerMinute ?? Infinity))
    this.semaphore = concurrency === undefined ? undefined : new Semaphore(Math.floor(concurrency))
  }

  get limitsTokens(): boolean {
    return this.limits.tokens !== undefined
  }

  get limitsMoney(): boolean {
    return this.limits.costUsd !== undefined || this.limits.costUsdPerMinute !== undefined
  }

  get limitsMinutes(): boolean {
    return this.limits.costUsdPerMinute !== undefined
  }

  /** Why there is no room for another call with this reservation. */
  refusal(tool: string, amount: Amount, now: number): Denial | undefined {
    const { scope, calls, limits } = this
    const { concurrency, queue } = limits
    if (!calls.fits(1)) return limitErrors.calls(tool, scope, calls.cap)
    if (concurrency !== undefined && queue !== undefined && this.underWay >= concurrency + queue)
      return limitErrors.queue(tool, scope, concurrency, queue)
    return this.shortage(tool, amount, now)
  }

  /** Why there are not enough tokens or money. */
  shortage(tool: string, { tokens, nanoUsd }: Amount, now: number): Denial | undefined {
    const { scope, nanoUsdPerMinute: minute } = this
    if (!this.tokens.fits(tokens)) return limitErrors.tokens(tool, scope, tokens, this.tokens)
    if (!this.nanoUsd.fits(nanoUsd)) return limitErrors.cost(tool, scope, nanoUsd, this.nanoUsd)
    if (!this.limitsMinutes) return undefined
    minute.passTo(now)
    if (minute.fits(nanoUsd)) return undefined
    const waitMs = minute.waitFor(nanoUsd, now)
    return limitErrors.costPerMinute(tool, scope, nanoUsd, minute, waitMs)
  }

  reserve({ tokens, nanoUsd }: Amount): void {
    this.tokens.reserve(tokens)
    this.nanoUsd.reserve(nanoUsd)
    if (this.limitsMinutes) this.nanoUsdPerMinute.reserve(nanoUsd)
  }

  /** Adds spending of an earlier run. `at`: on the clock of this process. */
  restore({ tokens, nanoUsd }: Amount, at: number): void {
    this.tokens.restore(tokens)
    this.nanoUsd.restore(nanoUsd)
    if (this.limitsMinutes) this.nanoUsdPerMinute.restoreAt(at, nanoUsd)
  }

  settle(reserved: Amount, used: Amount, now: number): void {
    this.tokens.settle(reserved.tokens, used.tokens)
    this.nanoUsd.settle(reserved.nanoUsd, used.nanoUsd)
    if (!this.limitsMinutes) return
    this.nanoUsdPerMinute.settle(reserved.nanoUsd, 0)
    this.nanoUsdPerMinute.spendAt(now, used.nanoUsd)
  }
}
