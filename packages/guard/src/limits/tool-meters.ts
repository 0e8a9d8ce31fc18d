import { larger, type Amount } from './amount.js'
import { CircuitBreaker } from './circuit-breaker.js'
import type { CallLimits, Limits } from './limits.js'
import { mergeLimits } from './merge-limits.js'
import { Meter } from './meter.js'
import type { Semaphore } from './semaphore.js'
import type { RequestedAmount } from './reserved-amount.js'

/** All that counts for the calls of one tool: the limits of the run and its own. */
export class ToolMeters {
  readonly all: readonly Meter[]
  /** A call needs a permit of each to run. */
  readonly semaphores: readonly Semaphore[]
  readonly breaker: CircuitBreaker | undefined
  /** Amounts that a call has to reserve. */
  readonly requested: RequestedAmount
  readonly allowance: CallLimits
  /** True if any of this depends on the time: reading the clock costs more than the rest. */
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

  /** A tool that once used more than it said is taken to do so again. */
  usedMore(used: Amount): void {
    this.#most = this.atLeastAsBefore(used)
  }

  atLeastAsBefore(amount: Amount): Amount {
    return this.#most === undefined ? amount : larger(this.#most, amount)
  }
}
