import type { BreakerLimits, CallLimits, Limits } from './limits.js'

/** Of several limits the smaller applies. */
export function mergeLimits(all: readonly CallLimits[]): CallLimits {
  const merged: Mutable<CallLimits> = {}
  for (const limits of all) {
    for (const name of NUMBER_LIMITS) {
      const value = limits[name]
      if (value !== undefined) merged[name] = Math.min(merged[name] ?? Infinity, value)
    }
    if (limits.breaker) merged.breaker = stricter(limits.breaker, merged.breaker)
  }
  return merged
}

/** Default reservations: the larger applies, so that no limit is exceeded. */
export function mergeReserve(all: readonly Limits[]): Limits['reserve'] {
  const found = all.flatMap(({ reserve }) => reserve ?? [])
  if (found.length < 2) return found[0]
  const most = (name: 'inputTokens' | 'outputTokens' | 'costUsd') => {
    const values = found.flatMap((reserve) => reserve[name] ?? [])
    return values.length === 0 ? {} : { [name]: Math.max(...values) }
  }
  return { ...most('inputTokens'), ...most('outputTokens'), ...most('costUsd') }
}

const stricter = (a: BreakerLimits, b: BreakerLimits = a): BreakerLimits => ({
  failures: Math.min(a.failures, b.failures),
  cooldownMs: Math.max(a.cooldownMs, b.cooldownMs),
})

/** The limits that are one number. */
export const NUMBER_LIMITS = [
  'timeoutMs',
  'deadlineMs',
  'outputBytes',
  'calls',
  'concurrency',
  'queue',
  'tokens',
  'costUsd',
  'costUsdPerMinute',
] as const satisfies readonly (keyof CallLimits)[]

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
