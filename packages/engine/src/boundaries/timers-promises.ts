import timersPromises from 'node:timers/promises'
import { currentSession } from '../scope.js'
import { replace, undoAll } from './patch.js'
import type { Undo } from './patch.js'
import { TapeTimer, wholeMs } from './tape-timer.js'

interface WaitOptions {
  readonly signal?: AbortSignal
  readonly ref?: boolean
}

function abortError(signal: AbortSignal): Error {
  const error = new Error('The operation was aborted', { cause: signal.reason })
  error.name = 'AbortError'
  return Object.assign(error, { code: 'ABORT_ERR' })
}

function wait<T>(
  kind: 'timeout' | 'immediate',
  ms: number,
  value: T,
  options?: WaitOptions,
): Promise<T> {
  const { promise, resolve, reject } = withResolvers<T>()
  const signal = options?.signal
  if (signal?.aborted === true) return Promise.reject(abortError(signal))
  const timer = new TapeTimer(
    kind,
    ms,
    () => {
      signal?.removeEventListener('abort', onAbort)
      resolve(value)
    },
    [],
  )
  const onAbort = (): void => {
    timer.stop()
    if (signal) reject(abortError(signal))
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  if (options?.ref === false) timer.unref()
  return promise
}

const native = {
  timeout: timersPromises.setTimeout,
  immediate: timersPromises.setImmediate,
  interval: timersPromises.setInterval,
  wait: timersPromises.scheduler.wait.bind(timersPromises.scheduler),
  yield: timersPromises.scheduler.yield.bind(timersPromises.scheduler),
}

export function waitTimeout<T>(
  ms?: number,
  value?: T,
  options?: WaitOptions,
): Promise<T | undefined> {
  return currentSession()
    ? wait('timeout', wholeMs(ms), value, options)
    : native.timeout(ms, value, options)
}

export function waitImmediate<T>(value?: T, options?: WaitOptions): Promise<T | undefined> {
  return currentSession() ? wait('immediate', 0, value, options) : native.immediate(value, options)
}

/** The asynchronous iterator: ticks that nobody has read yet are counted, not lost. */
async function* everyInterval<T>(ms: number, value: T, options?: WaitOptions): AsyncGenerator<T> {
  const signal = options?.signal
  if (signal?.aborted === true) throw abortError(signal)
  let ticks = 0
  let wake: (() => void) | undefined
  const timer = new TapeTimer(
    'interval',
    ms,
    () => {
      ticks += 1
      wake?.()
    },
    [],
  )
  if (options?.ref === false) timer.unref()
  const onAbort = (): void => {
    timer.stop()
    wake?.()
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    for (;;) {
      if (signal?.aborted) throw abortError(signal)
      if (ticks === 0) await new Promise<void>((resolve) => (wake = resolve))
      for (; ticks > 0; ticks -= 1) yield value
    }
  } finally {
    timer.stop()
    signal?.removeEventListener('abort', onAbort)
  }
}

/** `node:timers/promises`: Node's own would make timers that no patch can see. */
export function patchTimersPromises(): Undo {
  const scheduler = Object.getPrototypeOf(timersPromises.scheduler) as object
  return undoAll([
    replace(timersPromises, 'setTimeout', waitTimeout),
    replace(timersPromises, 'setImmediate', waitImmediate),
    replace(timersPromises, 'setInterval', <T>(ms?: number, value?: T, options?: WaitOptions) =>
      currentSession()
        ? everyInterval(wholeMs(ms), value, options)
        : native.interval(ms, value, options),
    ),
    replace(scheduler, 'wait', (ms: number, options?: WaitOptions) =>
      currentSession()
        ? wait('timeout', wholeMs(ms), undefined, options)
        : native.wait(ms, options),
    ),
    replace(scheduler, 'yield', () =>
      currentSession() ? wait('immediate', 0, undefined) : native.yield(),
    ),
  ])
}

function withResolvers<T>(): {
  promise: Promise<T>
  resolve: (value: T) => void
  reject: (error: unknown) => void
} {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
