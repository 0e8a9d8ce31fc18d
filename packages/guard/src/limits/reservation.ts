import type { CallUsage } from '@retake/tape/format'
import type { CallBounds } from '../bounds/call-bounds.js'
import type { Denial } from '../guard-error.js'
import {
  addCallUsage,
  beyond,
  larger,
  NOTHING,
  sum,
  toUsage,
  usedAmount,
  type Amount,
} from './amount.js'
import type { CallQueue } from './call-queue.js'
import type { CircuitOutcome } from './meter.js'
import type { Clock } from './clock.js'
import { limitErrors } from './limit-errors.js'
import type { Permit } from './call-queue.js'
import type { ToolMeters } from './meter.js'

/** The permits of running calls, for their nested calls. */
const permitsOf = new WeakMap<CallBounds, readonly Permit[]>()

/** Usage and permits of a call until it is over. Created by `Limiter.admit`. */
export class Reservation {
  #permits: readonly Permit[] = []
  #isOver = false
  #said: CallUsage | undefined
  /** Reported by a tool that was given up, before its call was settled. */
  #early: CallUsage | undefined
  #least = NOTHING
  #counted = NOTHING
  /** Usage counted for the attempts before the last one. */
  #before = NOTHING
  #more: CallUsage | undefined
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
      meter.calls.settle(0, 1)
      meter.underWay += 1
      meter.reserve(amount)
    }
  }

  /** The reserved usage, as it goes on the tape. */
  get reserved(): CallUsage | undefined {
    return toUsage(this.amount)
  }

  /** Waits until the call may start. Returns why it may not; then the reservation is released. */
  ready(
    bounds: CallBounds,
    signal?: AbortSignal,
  ): Denial | undefined | Promise<Denial | undefined> {
    const { semaphores } = this.meters
    if (signal?.aborted === true) return this.#giveUp(limitErrors.aborted(this.tool, false))
    if (semaphores.length === 0) return this.#start([])
    const taken = this.queue.enter(
      semaphores,
      bounds.around.flatMap((each) => permitsOf.get(each) ?? []).toReversed(),
      signal,
    )
    const start = (mine: readonly Permit[] | undefined): Denial | undefined => {
      if (mine === undefined) return this.#giveUp(limitErrors.aborted(this.tool, false))
      permitsOf.set(bounds, mine)
      return this.#start(mine)
    }
    return taken instanceof Promise ? taken.then(start) : start(taken)
  }

  /** The final usage of the call, all attempts together. */
  get counted(): Amount {
    return sum(this.#before, this.#counted)
  }

  /** Reserves room for another attempt. Returns why there is none. */
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
   * Ends the reservation with the usage of the last attempt. If the tool was given up, all of it
   * counts as used. Returns the usage beyond the reservation.
   */
  settle(
    usage: CallUsage | undefined,
    outcome: CircuitOutcome,
    isGivenUp = false,
  ): CallUsage | undefined {
    if (this.#isOver) return this.#more
    this.#said = this.#early === undefined ? usage : addCallUsage(usage, this.#early)
    this.#least = isGivenUp ? this.amount : NOTHING
    this.#counted = larger(usedAmount(this.#said, this.amount), this.#least)
    const now = this.#now()
    for (const meter of this.meters.all) meter.settle(this.amount, this.#counted, now)
    this.#close(outcome)
    this.#noteBeyond(this.#counted)
    return this.#more
  }

  /** Counts usage that a tool reports after its call. Returns what counts in addition. */
  late(usage: CallUsage): Amount {
    if (!this.#isOver) {
      this.#early = addCallUsage(this.#early, usage)
      return NOTHING
    }
    this.#said = addCallUsage(this.#said, usage)
    const used = larger(usedAmount(this.#said, this.amount), this.#least)
    const more = beyond(used, this.#counted)
    this.#counted = larger(used, this.#counted)
    for (const meter of this.meters.all) meter.settle(NOTHING, more, this.#now())
    return more
  }

  /** The call was never started. */
  release(): void {
    if (this.#isOver) return
    for (const meter of this.meters.all) {
      meter.calls.settle(0, -1)
      meter.settle(this.amount, NOTHING, 0)
    }
    this.#close('none')
  }

  /** While the call waited, others may have failed or exceeded their reservation. */
  #start(permits: readonly Permit[]): Denial | undefined {
    this.#permits = permits
    const { breaker, all } = this.meters
    const now = this.#now()
    if (breaker !== undefined && !breaker.mayStart(this.#isTry))
      return this.#giveUp(
        limitErrors.circuitOpen(this.tool, breaker.failures, breaker.waitMs(now) ?? 0),
      )
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

  /** Without a limit, a tool need not reserve, and exceeds nothing. */
  #noteBeyond(used: Amount): void {
    const { requested } = this.meters
    const { tokens, nanoUsd } = beyond(used, this.amount)
    const more = toUsage({
      tokens: requested.tokens !== undefined || this.amount.tokens > 0 ? tokens : 0,
      nanoUsd: requested.costUsd !== undefined || this.amount.nanoUsd > 0 ? nanoUsd : 0,
    })
    if (more === undefined) return
    this.#more = addCallUsage(this.#more, more)
    this.meters.usedMore(used)
  }
}
