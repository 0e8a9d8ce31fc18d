import { natives } from '@retake/engine/hook'

/** Time and randomness for limits. Tests pass their own. */
export interface Clock {
  /** Monotonic milliseconds. */
  now(): number
  /** Epoch milliseconds. */
  date(): number
  /** From 0 (inclusive) to 1 (exclusive). */
  random(): number
  /** Calls `work` after `ms`. Returns a function that cancels it. */
  after(ms: number, work: () => void): () => void
}

export const realClock: Clock = {
  now: natives.performanceNow,
  date: natives.dateNow,
  random: natives.random,
  after: (ms, work) => {
    // Node fires a longer timer immediately.
    const timer = natives.setTimeout(work, Math.min(ms, TIMER_MAX_MS))
    return () => natives.clearTimeout(timer)
  },
}

const TIMER_MAX_MS = 2 ** 31 - 1

/** Why waiting ended without a value. */
export type WaitEnd = 'time' | 'aborted'

const READY = Promise.resolve()

/** Resolves with the value that `begin` passes to `done`, on timeout, or on abort. */
export function waitFor<T extends object>(
  ms: number,
  signal: AbortSignal | undefined,
  begin: (done: (value: T) => void) => void = () => {},
  clock: Clock = realClock,
): Promise<T | WaitEnd> {
  return new Promise((resolve) => {
    let callOff: (() => void) | undefined
    let isDone = false
    const done = (value: T | WaitEnd): void => {
      if (isDone) return
      isDone = true
      callOff?.()
      signal?.removeEventListener('abort', abort)
      resolve(value)
    }
    const abort = (): void => done('aborted')
    begin(done)
    const until = clock.now() + ms
    const arm = async (): Promise<void> => {
      // A synchronous result does not need a timer.
      await READY
      if (isDone) return
      if (signal?.aborted === true) return abort()
      // If the event loop was blocked past the deadline, this must end before other timers run.
      const leftMs = until - clock.now()
      if (leftMs <= 0) return done('time')
      signal?.addEventListener('abort', abort, { once: true })
      callOff = clock.after(leftMs, () => done('time'))
    }
    void arm()
  })
}
