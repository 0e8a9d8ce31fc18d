import type { GuardedTool } from '../guarded-tool.js'
import type { Clock } from './clock.js'
import { LONGEST_ASKED_MS, retryPauseMs } from './retry-pause.js'
import { retryAfterMs } from './retry-after.js'
import { retrySafety } from './retry-safety.js'

/**
 * When a tool that failed is tried again: after a pause, not any more, or not at all
 * (`none`), because that would not be safe. Reading the error may run code of the
 * tool: call it within the tool's bounds.
 */
export function nextAttempt(
  { options }: GuardedTool,
  error: unknown,
  attempt: number,
  didMore: boolean,
  clock: Clock,
): { readonly pauseMs: number } | { readonly why: string } | 'none' {
  const { retries = 0, idempotent, idempotencyKey } = options
  if (!(retries > 0)) return 'none'
  try {
    const safety = retrySafety(error)
    const mayRunTwice = idempotent === true || idempotencyKey !== undefined
    if (safety === 'final') return 'none'
    if (!mayRunTwice && (safety === 'transient' || didMore)) return 'none'
    if (!(attempt <= retries)) return { why: 'There is no attempt left.' }
    const askedMs = retryAfterMs(error, clock.date())
    if (askedMs !== undefined && askedMs > LONGEST_ASKED_MS)
      return { why: `It asks to wait ${Math.ceil(askedMs / 1000)} s: a call waits 60 s at most.` }
    return { pauseMs: retryPauseMs(attempt, askedMs, clock) }
  } catch {
    return 'none'
  }
}
