import type { CallUsage } from '@retake/tape'
import type { Denial } from '../guard-error.js'
import type { GuardedTool } from '../guarded-tool.js'
import type { Limits } from './limits.js'

/** Room that a call holds until it is over. */
export interface Reservation {
  /** Waits until the call may start, where others have to end first. */
  ready(signal: AbortSignal): Promise<void> | undefined
  /** The call is over and used this; what was reserved beyond is free again. */
  settle(usage: CallUsage): void
}

/**
 * Counts what the calls of a run use. `admit` is one synchronous step, so that
 * no two calls can both take the last of something.
 */
export class Limiter {
  readonly timeoutMs: number | undefined

  constructor(readonly limits: readonly Limits[]) {
    const timeouts = limits.flatMap(({ timeoutMs }) => timeoutMs ?? [])
    this.timeoutMs = timeouts.length === 0 ? undefined : Math.min(...timeouts)
  }

  admit(_tool: GuardedTool, _fingerprint: string, _args: unknown): Denial | Reservation {
    return { ready: () => undefined, settle: () => {} }
  }

  /** A call that the tape has answered: it counts as if it had been made. */
  absorb(_tool: string, _fingerprint: string, _usage: CallUsage): void {
    // Nothing is counted yet.
  }
}
