import type { Clock } from './clock.js'

/** Why waiting ended without what was waited for. */
export type WaitEnd = 'time' | 'aborted'

const READY = Promise.resolve()

/**
 * Waits for what `begin` hands to `done`, no longer than `ms` and no longer than
 * nobody aborts. Whatever comes later is ignored.
 */
export function waitFor<T extends object>(
  ms: number,
  signal: AbortSignal | undefined,
  clock: Clock,
  begin: (done: (value: T) => void) => void,
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
    const arm = async (): Promise<void> => {
      // What has its answer in the same breath needs no timer.
      await READY
      if (isDone) return
      if (signal?.aborted === true) return abort()
      signal?.addEventListener('abort', abort, { once: true })
      callOff = clock.after(ms, () => done('time'))
    }
    void arm()
  })
}
