import {
  atLeast,
  DataCheck,
  objectOf,
  required,
  type DataSchema,
  type TypeOfFields,
} from '@retake/engine/schema'
import type { CallUsage } from '@retake/tape/guards'
import { GuardError } from '../denials/guard-error.js'
import { combineUsage } from './amount.js'
import { limitErrors } from './limit-errors.js'
import { toolNameProblem } from '../data/name-pattern.js'

/** The smaller value applies. */
export function mergeLimits(all: readonly CallLimits[]): CallLimits {
  const merged = Object.create(null) as Mutable<CallLimits>
  for (const limits of all) {
    for (const name of Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]) {
      const value = limits[name]
      if (value !== undefined) merged[name] = Math.min(merged[name] ?? Infinity, value)
    }
    const { breaker: own } = limits
    const { breaker: other = own } = merged
    if (own && other)
      merged.breaker = {
        failures: Math.min(own.failures, other.failures),
        cooldownMs: Math.max(own.cooldownMs, other.cooldownMs),
      }
  }
  return merged
}

/** The larger value applies. */
export function mergeReserve(all: readonly Limits[]): Limits['reserve'] {
  const found = all.flatMap(({ reserve }) => reserve ?? [])
  return found.length === 0 ? undefined : combineUsage(found, (values) => Math.max(...values))
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Usage that tools reserve or report. */
export const USAGE: DataSchema<CallUsage> = objectOf({
  inputTokens: atLeast(0),
  outputTokens: atLeast(0),
  costUsd: atLeast(0),
})

/** Limits that are a single number. */
const NUMBERS = {
  /** Timeout of an attempt; default 60,000. A tool can set a smaller one. */
  timeoutMs: atLeast(1),
  /** Timeout of a call with all its attempts and pauses. */
  deadlineMs: atLeast(1),
  /** Size of a result on the tape; default 10 MB. */
  outputBytes: atLeast(0),
  /** Number of calls in the run, including served ones. Retries do not count. */
  calls: atLeast(0),
  /** Concurrent calls; others wait in order. A nested call may borrow the permit of its caller. */
  concurrency: atLeast(1),
  /** Number of calls that may wait for a permit or an approval. */
  queue: atLeast(0),
  /** Sum of input and output tokens. */
  tokens: atLeast(0),
  costUsd: atLeast(0),
  /** In any sixty seconds. */
  costUsdPerMinute: atLeast(0),
}

const BREAKER = {
  /** Number of consecutive failures after which calls of the tool are stopped. */
  failures: required(atLeast(1), 'It has no "failures".'),
  /** Time after which one trial call is allowed. If it succeeds, the circuit closes. */
  cooldownMs: required(atLeast(0), 'It has no "cooldownMs".'),
}

export type BreakerLimits = TypeOfFields<typeof BREAKER>

const CALL_LIMITS = { ...NUMBERS, breaker: objectOf(BREAKER, '"breaker"') }

/** Limits for the calls of a run or of a tool. Unlimited unless stated otherwise. */
export type CallLimits = TypeOfFields<typeof CALL_LIMITS>

const callLimits = objectOf(CALL_LIMITS, 'Limits')

const limitsByTool: DataSchema<Readonly<Record<string, CallLimits>>> = (check, path, data) => {
  for (const [tool, limits] of Object.entries(check.object(path, data, 'Limits by tool') ?? {})) {
    const problem = tool.includes('*')
      ? 'It must be the name of one tool. Patterns apply only in rules.'
      : toolNameProblem(tool)
    if (problem !== undefined) check.addKey([...path, tool], problem)
    callLimits(check, [...path, tool], limits)
  }
}

const LIMITS = {
  ...CALL_LIMITS,
  /** Stops loops: this many identical calls, or rounds of up to 16 calls, with identical results. */
  repeats: atLeast(1),
  /** Reservation of tools that do not declare one. */
  reserve: USAGE,
  /** Additional limits of single tools, by name. */
  tools: limitsByTool,
}

/**
 * Limits of a run. Under a limit of tokens or money, each call reserves its maximum usage before it
 * starts. A tool without a reservation uses `reserve`; without that, its calls are stopped unless it
 * declares effects without `spend`. A resumed run counts the spending of earlier runs.
 */
export type Limits = TypeOfFields<typeof LIMITS>

/** Checks limits that come from a policy file or from options. */
export const limitsSchema = objectOf(LIMITS, 'Limits')

/** Throws for invalid limits, because a misspelled limit would limit nothing. */
export function assertLimits(limits: unknown): void {
  const check = new DataCheck()
  limitsSchema(check, [], limits)
  const [problem] = check.problems
  if (problem !== undefined)
    throw new GuardError(limitErrors.LIMITS_INVALID(problem.path.join('.'), problem.message))
}
