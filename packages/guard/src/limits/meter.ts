import type { Denial } from '../guard-error.js'
import { capInNanoUsd, type Amount } from './amount.js'
import { Budget } from './budget.js'
import { limitErrors } from './limit-errors.js'
import type { CallLimits } from './limits.js'
import { MinuteBudget } from './minute-budget.js'
import { Places } from './places.js'

/** Counts calls against one set of limits: those of the run, or those of a tool. */
export class Meter {
  readonly calls: Budget
  readonly tokens: Budget
  readonly nanoUsd: Budget
  readonly nanoUsdPerMinute: MinuteBudget
  readonly places: Places | undefined
  /** Calls that were let through and are not over. */
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
    this.places = concurrency === undefined ? undefined : new Places(Math.floor(concurrency))
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

  /** Why there is no room for one more call that may use so much. */
  refusal(tool: string, amount: Amount, now: number): Denial | undefined {
    const { scope, calls, limits } = this
    const { concurrency, queue } = limits
    if (!calls.fits(1)) return limitErrors.calls(tool, scope, calls.cap)
    if (concurrency !== undefined && queue !== undefined && this.underWay >= concurrency + queue)
      return limitErrors.queue(tool, scope, concurrency, queue)
    return this.shortage(tool, amount, now)
  }

  /** Why there is not so much left of tokens or money. */
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

  /** What an earlier run has spent, and when, on the clock of this process. */
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
