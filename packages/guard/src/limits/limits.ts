import type { CallUsage } from '@retake/tape/format'

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

/** Limits for the calls of a run, or of one tool. Anything not set is unlimited, except as stated. */
export interface CallLimits {
  /** Milliseconds an attempt may take; 60,000 unless set. A tool may set less for itself. */
  readonly timeoutMs?: number
  /** Milliseconds a call may take with all its attempts and the pauses between them. */
  readonly deadlineMs?: number
  /** Size of a result on the tape; 10 MB unless set. */
  readonly outputBytes?: number
  /** Calls in the run. Attempts of one call count once; calls served from a tape count, too. */
  readonly calls?: number
  /** Concurrent calls; more wait in order. A nested call may borrow the permit of the tool that makes it. */
  readonly concurrency?: number
  /** How many may wait for a permit or an approval; no limit unless set. */
  readonly queue?: number
  /** Input and output together. */
  readonly tokens?: number
  readonly costUsd?: number
  /** In any sixty seconds. */
  readonly costUsdPerMinute?: number
  /** Keeps calls from a tool that fails. */
  readonly breaker?: BreakerLimits
}

export interface BreakerLimits {
  /** So many failures of a tool in a row open its circuit: its calls are stopped. */
  readonly failures: number
  /** After that long one call is let through; when it succeeds the circuit is closed again. */
  readonly cooldownMs: number
}

/**
 * Limits of a run. Under a limit of tokens or money each call reserves the most
 * it may use before it starts, so that the limit is never passed. A tool that does
 * not say what that is gets `reserve`, or is stopped, unless it declares effects
 * and `spend` is not among them. A run that is resumed counts what the runs before
 * it have spent.
 */
export interface Limits extends CallLimits {
  /**
   * The same call with the same result so often in a row is a loop, and so is a
   * round of up to 16 calls; off unless set.
   */
  readonly repeats?: number
  /** Reserved for calls of tools that do not say what they use. */
  readonly reserve?: CallUsage
  /** Of single tools, by name, beside those of the run. */
  readonly tools?: Readonly<Record<string, CallLimits>>
}
