import type { CallUsage } from '@retake/tape/format'
import { GuardError } from '../guard-error.js'
import { combineUsage } from './amount.js'
import { limitErrors } from './limit-errors.js'
import { DataCheck, type DataPath, type FieldRules } from '../policy/data-check.js'

/** Merges limits; the smaller applies. */
export function mergeLimits(all: readonly CallLimits[]): CallLimits {
  const merged: Mutable<CallLimits> = {}
  for (const limits of all) {
    for (const name of Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]) {
      const value = limits[name]
      if (value !== undefined) merged[name] = Math.min(merged[name] ?? Infinity, value)
    }
    if (limits.breaker) merged.breaker = stricter(limits.breaker, merged.breaker)
  }
  return merged
}

/** Merges default reservations; the larger applies. */
export function mergeReserve(all: readonly Limits[]): Limits['reserve'] {
  const found = all.flatMap(({ reserve }) => reserve ?? [])
  return found.length === 0 ? undefined : combineUsage(found, (values) => Math.max(...values))
}

const stricter = (a: BreakerLimits, b: BreakerLimits = a): BreakerLimits => ({
  failures: Math.min(a.failures, b.failures),
  cooldownMs: Math.max(a.cooldownMs, b.cooldownMs),
})

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Limits for the calls of a run, or of one tool. Unlimited by default, except as stated. */
export interface CallLimits {
  /** Milliseconds that an attempt may take; default 60,000. A tool may set less for itself. */
  readonly timeoutMs?: number
  /** Milliseconds that a call may take with all its attempts and pauses. */
  readonly deadlineMs?: number
  /** Size of a result on the tape; default 10 MB. */
  readonly outputBytes?: number
  /** Calls in the run, including served ones. Attempts of one call count once. */
  readonly calls?: number
  /** Concurrent calls; more wait in order. A nested call may borrow the permit of the tool that makes it. */
  readonly concurrency?: number
  /** Calls that may wait for a permit or an approval. */
  readonly queue?: number
  /** Input and output together. */
  readonly tokens?: number
  readonly costUsd?: number
  /** In any sixty seconds. */
  readonly costUsdPerMinute?: number
  readonly breaker?: BreakerLimits
}

export interface BreakerLimits {
  /** Consecutive failures that open the circuit of a tool: its calls are stopped. */
  readonly failures: number
  /** Time after which one call is allowed; if it succeeds, the circuit closes. */
  readonly cooldownMs: number
}

/**
 * Limits of a run. Under a limit of tokens or money, each call reserves the most it may use before it
 * starts. A tool without a reservation gets `reserve`, or is stopped unless it declares effects
 * without `spend`. A resumed run counts the spending of earlier runs.
 */
export interface Limits extends CallLimits {
  /** Number of identical calls, or rounds of up to 16 calls, with identical results that is a loop. */
  readonly repeats?: number
  /** Default reservation of tools that declare none. */
  readonly reserve?: CallUsage
  /** Limits of single tools, by name, in addition to those of the run. */
  readonly tools?: Readonly<Record<string, CallLimits>>
}

/** Tokens and money, as tools reserve and report them. */
export const USAGE_RULES: FieldRules = {
  inputTokens: 'count',
  outputTokens: 'count',
  costUsd: 'count',
}

/** The limits that are one number. */
const NUMBERS = {
  timeoutMs: 'positive',
  deadlineMs: 'positive',
  outputBytes: 'count',
  calls: 'count',
  concurrency: 'positive',
  queue: 'count',
  tokens: 'count',
  costUsd: 'count',
  costUsdPerMinute: 'count',
} as const satisfies Record<Exclude<keyof CallLimits, 'breaker'>, string>

const CALL_LIMITS: FieldRules = {
  ...NUMBERS,
  breaker: (check, path, data) => {
    const rules: FieldRules = { failures: 'positive', cooldownMs: 'count' }
    const breaker = check.fields(path, data, '"breaker"', rules)
    for (const key of Object.keys(rules))
      if (breaker !== undefined && breaker[key] === undefined)
        check.add(path, `It has no "${key}".`)
  },
}

const LIMITS: FieldRules = {
  ...CALL_LIMITS,
  repeats: 'positive',
  reserve: (check, path, data) => void check.fields(path, data, '"reserve"', USAGE_RULES),
  tools: (check, path, data) => {
    const tools = check.object(path, data, 'Limits by tool', undefined) ?? {}
    for (const [tool, limits] of Object.entries(tools))
      check.fields([...path, tool], limits, 'Limits', CALL_LIMITS)
  },
}

/** Throws for limits that could not apply: one that is misspelled or not a number limits nothing. */
export function refuseWrongLimits(limits: unknown): void {
  const check = new DataCheck()
  checkLimits(check, limits, [])
  const [problem] = check.problems
  if (problem !== undefined)
    throw new GuardError(limitErrors.LIMITS_INVALID(problem.path.join('.'), problem.message))
}

/** Checks limits as data: those of the run, and those of single tools. */
export const checkLimits = (check: DataCheck, data: unknown, path: DataPath): void =>
  void check.fields(path, data, 'Limits', LIMITS)
