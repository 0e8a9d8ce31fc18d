import type { CallUsage, GuardFacts, GuardIntent } from '@retake/tape/format'
import { GuardError, type Denial } from '../guard-error.js'
import type { GuardedTool } from '../guarded-tool.js'
import { amountOf, NOTHING, toUsd, wrongUsage } from './amount.js'
import { CallQueue } from './call-queue.js'
import { refuseWrongLimits } from './check-limits.js'
import { realClock, type Clock } from './clock.js'
import { limitErrors } from './limit-errors.js'
import type { Limits } from './limits.js'
import { LoopWatch } from './loop-watch.js'
import { mergeLimits, mergeReserve } from './merge-limits.js'
import { Meter } from './meter.js'
import { Reservation } from './reservation.js'
import { reservedAmount } from './reserved-amount.js'
import { countedFor, overuseOf, type Spent } from './spent.js'
import { ToolMeters } from './tool-meters.js'

/** Usage of a run so far, and reservations of running calls. */
export interface Used {
  readonly calls: number
  readonly running: number
  readonly spent: { readonly tokens: number; readonly costUsd: number }
  readonly reserved: { readonly tokens: number; readonly costUsd: number }
}

/**
 * Counts what the calls of a run use. `admit` is one synchronous step, so that
 * no two calls can both take the last of something. A run that goes on counts what
 * its tape has answered (`absorb`) and what earlier runs have spent (`restore`).
 */
export class Limiter {
  readonly timeoutMs: number | undefined
  readonly #run: Meter
  readonly #reserve: CallUsage | undefined
  readonly #loops: LoopWatch | undefined
  readonly #tools = new Map<string, ToolMeters>()
  readonly #queue = new CallQueue()

  constructor(
    readonly limits: readonly Limits[],
    readonly clock: Clock = realClock,
  ) {
    for (const each of limits) refuseWrongLimits(each)
    this.#run = new Meter(mergeLimits(limits), '')
    this.#reserve = mergeReserve(limits)
    this.timeoutMs = this.#run.limits.timeoutMs
    const repeats = limits.flatMap((each) => each.repeats ?? [])
    this.#loops = repeats.length === 0 ? undefined : new LoopWatch(Math.min(...repeats))
  }

  /** Room for one more call, or why there is none. */
  admit(tool: GuardedTool, fingerprint: string, args: unknown): Denial | Reservation {
    const { name } = tool
    const meters = this.#metersOf(name)
    const now = meters.needsTime ? this.clock.now() : 0
    const round = this.#loops?.roundOf(fingerprint)
    if (round !== undefined) return limitErrors.loop(name, round, this.#loops?.repeats ?? round)
    const { breaker } = meters
    const waitMs = breaker?.waitMs(now)
    if (breaker && waitMs !== undefined)
      return limitErrors.circuitOpen(name, breaker.failures, waitMs)
    const reserved = reservedAmount(tool, args, this.#reserve, meters.requested)
    if ('code' in reserved) return reserved
    const amount = meters.atLeastAsBefore(reserved)
    for (const meter of meters.all) {
      const refusal = meter.refusal(name, amount, now)
      if (refusal !== undefined) return refusal
    }
    return new Reservation(name, amount, meters, this.#queue, this.clock)
  }

  /** Counts usage outside of guarded tools, such as that of the model. */
  spend(usage: CallUsage): void {
    const wrong = wrongUsage(usage)
    if (wrong !== undefined) throw new GuardError(limitErrors.usageInvalid('run.spend', wrong))
    this.#run.settle(NOTHING, amountOf(usage), this.clock.now())
  }

  /**
   * A call that a tape has answered. One of this run, before it went live, counts as
   * if it had been made now. One served from an earlier run counts as a call; what it
   * cost then is among what is restored. With `isCounted` that was restored of this one, too.
   */
  absorb(tool: string, intent: GuardIntent, facts: GuardFacts, isCounted = false): void {
    if (intent.verdict === 'deny' || (facts.attempts === 0 && facts.served === undefined)) return
    const used = isCounted ? NOTHING : countedFor(intent, facts)
    const meters = this.#metersOf(tool)
    for (const meter of meters.all) {
      meter.calls.settle(0, 1)
      meter.restore(used, this.clock.now())
    }
    if (facts.overused !== undefined) meters.usedMore(overuseOf(intent.reserved, facts.overused))
  }

  /** Counts the spending of the runs that this one continues. */
  restore(spent: readonly Spent[]): void {
    const [now, date] = [this.clock.now(), this.clock.date()]
    const timed = spent.map((each) => ({ ...each, agoMs: Math.max(0, date - (each.at ?? date)) }))
    for (const { tool, amount, most, agoMs } of timed.toSorted((a, b) => b.agoMs - a.agoMs)) {
      const meters = tool === undefined ? undefined : this.#metersOf(tool)
      for (const meter of meters?.all ?? [this.#run]) meter.restore(amount, now - agoMs)
      if (most !== undefined) meters?.usedMore(most)
    }
  }

  /** A call has its answer, from the tool or from a tape; `answer` is only called where loops are limited. */
  answered(fingerprint: string, answer: () => string): void {
    this.#loops?.add(fingerprint, answer())
  }

  /** Milliseconds that an attempt and a call of a tool may take, and bytes that its result may have. */
  allowanceOf({ name, options }: GuardedTool): {
    timeoutMs: number
    deadlineMs: number | undefined
    outputBytes: number
  } {
    const { timeoutMs, deadlineMs, outputBytes } = this.#metersOf(name).allowance
    const own = options.timeoutMs ?? timeoutMs ?? DEFAULT_TIMEOUT_MS
    return {
      timeoutMs: Math.min(own, timeoutMs ?? Infinity),
      deadlineMs: smaller(deadlineMs, options.deadlineMs),
      outputBytes: outputBytes ?? DEFAULT_OUTPUT_BYTES,
    }
  }

  get used(): Used {
    const { calls, tokens, nanoUsd, underWay } = this.#run
    return {
      calls: calls.spent,
      running: underWay,
      spent: { tokens: tokens.spent, costUsd: toUsd(nanoUsd.spent) },
      reserved: { tokens: tokens.reserved, costUsd: toUsd(nanoUsd.reserved) },
    }
  }

  #metersOf(name: string): ToolMeters {
    let meters = this.#tools.get(name)
    if (meters === undefined) {
      meters = new ToolMeters(name, this.limits, this.#run)
      this.#tools.set(name, meters)
    }
    return meters
  }
}

const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_OUTPUT_BYTES = 10_000_000

const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : Math.min(a, b ?? Infinity)
