import { natives } from '@retake/engine/hook'

/** Time and randomness for limits. Tests pass their own. */
export interface Clock {
  /** Milliseconds that only ever go up. */
  now(): number
  /** Epoch milliseconds. */
  date(): number
  /** From 0 up to, not including, 1. */
  random(): number
  /** Calls `work` after `ms`. Returns how to cancel it. */
  after(ms: number, work: () => void): () => void
}

export const realClock: Clock = {
  now: natives.performanceNow,
  date: natives.dateNow,
  random: natives.random,
  after: (ms, work) => {
    // Node fires a longer timer immediately.
    const timer = natives.setTimeout(work, Math.min(ms, LONGEST_MS))
    return () => natives.clearTimeout(timer)
  },
}

const LONGEST_MS = 2 ** 31 - 1
