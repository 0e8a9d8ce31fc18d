import type { CallUsage } from '@retake/tape/guards'
import { GuardError } from '../denials/guard-error.js'
import { combineUsage } from './amount.js'
import { limitErrors } from './limit-errors.js'
import { DataCheck, type DataPath, type FieldRules } from '../data/data-check.js'
import { toolNameProblem } from '../data/name-pattern.js'

/** The smaller value applies. */
export function mergeLimits(all: readonly CallLimits[]): CallLimits {
  const merged = Object.create(null) as Mutable<CallLimits>
  for (const limits of all) {
    for (const name of Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]) {
      const value = limits[name]
      if (value !== undefined) merged[name] = Math.min(merged[name] ?? Infinity, value)
    }
    if (limits.breaker) merged.breaker = stricter(limits.breaker, merged.breaker)
  }
  return merged
}

/** The larger value applies. */
export function mergeReserve(all: readonly Limits[]): Limits['reserve'] {
  const found = all.flatMap(({ reserve }) => reserve ?? [])
  return found.length === 0 ? undefined : combineUsage(found, (values) => Math.max(...values))
}

const stricter = (a: BreakerLimits, b: BreakerLimits = a): BreakerLimits => ({
  failures: Math.min(a.failures, b.failures),
  cooldownMs: Math.max(a.cooldownMs, b.cooldownMs),
})

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Limits for the calls of a run or of a tool. Unlimited unless stated otherwise. */
export interface CallLimits {
  /** Timeout of an attempt; default 60,000. A tool can set a smaller one. */
  readonly timeoutMs?: number
  /** Timeout of a call with all its attempts and pauses. */
  readonly deadlineMs?: number
  /** Size of a result on the tape; default 10 MB. */
  readonly outputBytes?: number
  /** Number of calls in the run, including served ones. Retries do not count. */
  readonly calls?: number
  /** Concurrent calls; others wait in order. A nested call may borrow the permit of its caller. */
  readonly concurrency?: number
  /** Number of calls that may wait for a permit or an approval. */
  readonly queue?: number
  /** Sum of input and output tokens. */
  readonly tokens?: number
  readonly costUsd?: number
  /** In any sixty seconds. */
  readonly costUsdPerMinute?: number
  readonly breaker?: BreakerLimits
}

export interface BreakerLimits {
  /** Number of consecutive failures after which calls of the tool are stopped. */
  readonly failures: number
  /** Time after which one trial call is allowed. If it succeeds, the circuit closes. */
  readonly cooldownMs: number
}

/**
 * Limits of a run. Under a limit of tokens or money, each call reserves its maximum usage before it
 * starts. A tool without a reservation uses `reserve`; without that, its calls are stopped unless it
 * declares effects without `spend`. A resumed run counts the spending of earlier runs.
 */
export interface Limits extends CallLimits {
  /** Stops loops: this many identical calls, or rounds of up to 16 calls, with identical results. */
  readonly repeats?: number
  /** Reservation of tools that do not declare one. */
  readonly reserve?: CallUsage
  /** Additional limits of single tools, by name. */
  readonly tools?: Readonly<Record<string, CallLimits>>
}

/** Checks of a usage that tools reserve or report. */
export const USAGE_RULES: FieldRules = {
  inputTokens: 'count',
  outputTokens: 'count',
  costUsd: 'count',
}

/** Limits that are a single number. */
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
    for (const [tool, limits] of Object.entries(tools)) {
      const problem = tool.includes('*')
        ? 'It must be the name of one tool. Patterns apply only in rules.'
        : toolNameProblem(tool)
      if (problem !== undefined)
        check.problems.push({ path: [...path, tool], message: problem, isKey: true })
      check.fields([...path, tool], limits, 'Limits', CALL_LIMITS)
    }
  },
}

/** Throws for invalid limits, because a misspelled limit would limit nothing. */
export function assertLimits(limits: unknown): void {
  const check = new DataCheck()
  checkLimits(check, limits, [])
  const [problem] = check.problems
  if (problem !== undefined)
    throw new GuardError(limitErrors.LIMITS_INVALID(problem.path.join('.'), problem.message))
}

/** Checks limits that come from a policy file or from options. */
export const checkLimits = (check: DataCheck, data: unknown, path: DataPath): void =>
  void check.fields(path, data, 'Limits', LIMITS)
