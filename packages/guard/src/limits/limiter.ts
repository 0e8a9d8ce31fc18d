import type { BodyForm, RecordedError } from '@retake/tape/format'
import type { CallUsage, GuardFacts, GuardIntent } from '@retake/tape/guards'
import { type Denial, GuardError } from '../denials/guard-error.js'
import type { GuardedTool } from '../contract/guarded-tool.js'
import {
  type Amount,
  amountOf,
  countedFor,
  nanoUsdOf,
  NOTHING,
  overuseOf,
  type Spent,
  toUsd,
  usageTokens,
  usageProblem,
} from './amount.js'
import { CallQueue } from './call-queue.js'
import { type Limits, mergeLimits, mergeReserve, assertLimits } from './limits.js'
import { type Clock, realClock } from './clock.js'
import { circuitDenial, limitErrors } from './limit-errors.js'
import { Meter, Reservation, ToolMeters } from './meter.js'
import { createHash } from 'node:crypto'

const LONGEST_ROUND = 16

interface Answered {
  readonly fingerprint: string
  readonly answer: string
}

/**
 * Detects loops: the same call, or the same sequence (round) of calls, with the same results,
 * `repeats` times in a row. A stopped loop ends when a call has another result. Calls in progress
 * do not count.
 */
class LoopWatch {
  /** Ring buffer of the latest results. */
  readonly #latest: Answered[] = []
  #count = 0
  /** By length of the round: number of consecutive results that equal those one round earlier. */
  readonly #same = Array.from({ length: LONGEST_ROUND + 1 }, () => 0)

  #stopped: readonly Answered[] = []

  constructor(readonly repeats: number) {}

  add(fingerprint: string, answer: string): void {
    const isOf = (each: Answered) => each.fingerprint === fingerprint && each.answer === answer
    if (!this.#stopped.some(isOf)) this.#stopped = []
    for (let round = 1; round <= LONGEST_ROUND; round += 1) {
      const before = this.#ago(round)
      const isSame = before?.fingerprint === fingerprint && before.answer === answer
      this.#same[round] = isSame ? (this.#same[round] ?? 0) + 1 : 0
    }
    this.#latest[this.#count % LONGEST_ROUND] = { fingerprint, answer }
    this.#count += 1
  }

  /** Length of the round that this call would repeat; undefined if it is not in a loop. */
  roundOf(fingerprint: string): number | undefined {
    if (this.#stopped.some((each) => each.fingerprint === fingerprint)) return this.#stopped.length
    for (let round = 1; round <= LONGEST_ROUND; round += 1) {
      const before = this.#ago(round)
      if (before === undefined) return undefined
      const isRepeated = (this.#same[round] ?? 0) >= round * (this.timesOf(round) - 1)
      if (isRepeated && before.fingerprint === fingerprint) {
        this.#stopped = Array.from(
          { length: round },
          (_, index) => this.#ago(index + 1) ?? [],
        ).flat()
        return round
      }
    }
    return undefined
  }

  /** Several calls are a round only if they repeat; a single call may be limited to one. */
  timesOf(round: number): number {
    return round === 1 ? this.repeats : Math.max(2, this.repeats)
  }

  #ago(calls: number): Answered | undefined {
    return this.#count < calls ? undefined : this.#latest[(this.#count - calls) % LONGEST_ROUND]
  }
}

export function answerKey(
  result: { readonly as?: BodyForm | undefined; readonly error?: RecordedError | undefined },
  body: Uint8Array,
): string {
  const { as, error } = result
  if (error) return `error ${error.class} ${error.code ?? ''} ${error.message}`
  if (body.byteLength <= SHORT) return `${as} ${Buffer.from(body).toString('latin1')}`
  return `${as} ${createHash('sha256').update(body).digest('base64')}`
}

const SHORT = 64

/** False for a call that a limit stopped before it started. It does not end a loop. */
export const isAnswer = ({ exitReason, attempts }: GuardFacts): boolean =>
  exitReason === undefined || attempts !== 0

/**
 * Counts the usage of a run. `admit` is synchronous, so that two calls cannot both take the last of a
 * limit. A run that is continued also counts calls served from its tape (`absorb`) and spending of
 * earlier runs (`restore`).
 */
export class Limiter {
  readonly #run: Meter
  readonly #reserve: CallUsage | undefined
  readonly #loops: LoopWatch | undefined
  readonly #tools = new Map<string, ToolMeters>()
  readonly #queue = new CallQueue()

  constructor(
    readonly limits: readonly Limits[],
    readonly clock: Clock = realClock,
  ) {
    for (const each of limits) assertLimits(each)
    this.#run = new Meter(mergeLimits(limits), '')
    this.#reserve = mergeReserve(limits)
    const repeats = limits.flatMap((each) => each.repeats ?? [])
    this.#loops = repeats.length === 0 ? undefined : new LoopWatch(Math.min(...repeats))
  }

  /**
   * Reserves usage for a call, or returns a denial. `fingerprint` is undefined while a schema may
   * still change the arguments; then loops are not checked and a `reserve` function is not called.
   */
  admit(tool: GuardedTool, fingerprint: string | undefined, args: unknown): Denial | Reservation {
    const { name } = tool
    const meters = this.#metersOf(name)
    const now = meters.needsTime ? this.clock.now() : 0
    const isFinal = fingerprint !== undefined
    const loops = isFinal ? this.#loops : undefined
    const round = loops?.roundOf(fingerprint ?? '')
    if (loops && round !== undefined)
      return limitErrors.LIMIT_LOOP(name, round, loops.timesOf(round))
    const { breaker } = meters
    const waitMs = breaker?.waitMs(now)
    if (breaker && waitMs !== undefined) return circuitDenial(name, breaker.failures, waitMs)
    const reserved =
      isFinal || typeof tool.options.reserve !== 'function'
        ? reservedAmount(tool, args, this.#reserve, meters.requested)
        : NOTHING
    if ('code' in reserved) return reserved
    const amount = meters.atLeastAsBefore(reserved)
    if (!Number.isSafeInteger(amount.tokens) || !Number.isSafeInteger(amount.nanoUsd))
      return limitErrors.LIMIT_RESERVE_INVALID(name, 'it is more than can be counted')
    for (const meter of meters.all) {
      const refusal = meter.refusal(name, amount, now)
      if (refusal !== undefined) return refusal
    }
    return new Reservation(name, amount, meters, this.#queue, this.clock)
  }

  /** Counts usage outside of guarded tools, such as model calls. */
  spend(usage: CallUsage): void {
    const wrong = usageProblem(usage)
    if (wrong !== undefined)
      throw new GuardError(limitErrors.LIMIT_USAGE_INVALID('run.spend', wrong))
    this.#run.settle(NOTHING, amountOf(usage), this.clock.now())
  }

  /**
   * Counts a call that was served from a tape. `isCounted`: its cost was already restored, as for
   * calls of earlier runs.
   */
  absorb(tool: string, intent: GuardIntent, facts: GuardFacts, isCounted = false): void {
    if (intent.verdict === 'deny' || (facts.attempts === 0 && facts.served === undefined)) return
    const used = isCounted ? NOTHING : countedFor(intent, facts)
    const meters = this.#metersOf(tool)
    for (const meter of meters.all) {
      meter.calls.spent += 1
      meter.restore(used, this.clock.now())
    }
    if (facts.overused !== undefined) meters.usedMore(overuseOf(intent.reserved, facts.overused))
  }

  restore(spent: readonly Spent[]): void {
    const [now, date] = [this.clock.now(), this.clock.date()]
    const timed = spent.map((each) => ({ ...each, agoMs: Math.max(0, date - (each.at ?? date)) }))
    for (const { tool, amount, most, agoMs } of timed.toSorted((a, b) => b.agoMs - a.agoMs)) {
      const meters = tool === undefined ? undefined : this.#metersOf(tool)
      for (const meter of meters?.all ?? [this.#run]) meter.restore(amount, now - agoMs)
      if (most !== undefined) meters?.usedMore(most)
    }
  }

  /** Records a result for loop detection. Calls `answer` only if loops are limited. */
  answered(fingerprint: string, answer: () => string): void {
    this.#loops?.add(fingerprint, answer())
  }

  /** Passes an outcome of an earlier run to the circuit breaker of the tool. */
  restoreOutcome(tool: string, { status }: GuardFacts): void {
    const outcome = status === 'done' ? 'success' : status === 'failed' ? 'failure' : 'none'
    this.#metersOf(tool).breaker?.settle(outcome, false, this.clock.now())
  }

  allowanceOf({ name, options }: GuardedTool): {
    timeoutMs: number
    deadlineMs: number | undefined
    outputBytes: number
  } {
    const { timeoutMs, deadlineMs, outputBytes } = this.#metersOf(name).allowance
    const own = options.timeoutMs ?? timeoutMs ?? DEFAULT_TIMEOUT_MS
    return {
      timeoutMs: Math.min(own, timeoutMs ?? Infinity),
      deadlineMs:
        deadlineMs === undefined
          ? options.deadlineMs
          : Math.min(deadlineMs, options.deadlineMs ?? Infinity),
      outputBytes: outputBytes ?? DEFAULT_OUTPUT_BYTES,
    }
  }

  /** Usage so far, and reservations of running calls. */
  get used() {
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

/** Scopes of the limits that require a reservation; undefined if there is no limit. */
export interface RequestedAmount {
  readonly tokens: string | undefined
  readonly costUsd: string | undefined
}

/**
 * The reservation of a call: from its tool, or else from the limits. A tool that declares effects
 * without `spend` uses nothing. Any other tool without a reservation is refused under a limit.
 */
function reservedAmount(
  tool: GuardedTool,
  args: unknown,
  otherwise: CallUsage | undefined,
  requested: RequestedAmount,
): Amount | Denial {
  const { reserve, effects } = tool.options
  const { name } = tool
  const spendsNothing = effects !== undefined && !effects.includes('spend')
  if (reserve === undefined && spendsNothing) return NOTHING
  let reported: CallUsage | undefined
  try {
    reported = typeof reserve === 'function' ? reserve(args) : reserve
    const wrong = reported === undefined ? undefined : usageProblem(reported)
    if (wrong !== undefined) return limitErrors.LIMIT_RESERVE_INVALID(name, wrong)
  } catch (error) {
    return limitErrors.LIMIT_RESERVE_INVALID(name, `\`reserve\` threw ${String(error)}`)
  }
  const most = (of: (usage: CallUsage) => number | undefined): number | undefined =>
    (reported && of(reported)) ?? (spendsNothing ? 0 : otherwise && of(otherwise))
  const tokens = most(usageTokens)
  const nanoUsd = most(nanoUsdOf)
  if (tokens === undefined && requested.tokens !== undefined)
    return limitErrors.RESERVE_TOKENS_MISSING(name, requested.tokens)
  if (nanoUsd === undefined && requested.costUsd !== undefined)
    return limitErrors.RESERVE_COST_MISSING(name, requested.costUsd)
  return { tokens: tokens ?? 0, nanoUsd: nanoUsd ?? 0 }
}
