import timers from 'node:timers'
import { promisify } from 'node:util'
import { calledFrom, withCallerOrigin } from '../kernel/call-site.js'
import { natives } from '../kernel/natives.js'
import { currentSession, outsideRuns } from '../kernel/scope.js'
import { replace, type Undo, undoAll } from './patching/patch.js'
import { abortError } from './patching/deliver-error.js'
import { TapeTimer, type TimerCallback, type TimerKind, wholeMs } from './patching/tape-timer.js'
import { isTelemetryCall } from './patching/telemetry.js'
import timersPromises from 'node:timers/promises'

/**
 * All timers. While recording they wait natively and fire through the gate; on replay they fire
 * from the tape, without waiting.
 */
export function patchTimers(): Undo {
  const setTimeout = settingFunction('timeout')
  const setInterval = settingFunction('interval')
  const setImmediate = settingFunction('immediate')
  Object.defineProperty(setTimeout, promisify.custom, { value: waitTimeout, enumerable: true })
  Object.defineProperty(setImmediate, promisify.custom, { value: waitImmediate, enumerable: true })
  const patched = {
    setTimeout,
    setInterval,
    setImmediate,
    clearTimeout: clearingFunction(natives.clearTimeout),
    clearInterval: clearingFunction(natives.clearInterval),
    clearImmediate: clearingFunction(natives.clearImmediate),
  }
  return undoAll([
    ...Object.entries(patched).flatMap(([name, fn]) => [
      replace(globalThis, name, fn),
      replace(timers, name, fn),
    ]),
    patchTimersPromises(),
    patchAbortTimeout(),
  ])
}

function settingFunction(kind: TimerKind) {
  const native = {
    timeout: natives.setTimeout,
    interval: natives.setInterval,
    immediate: natives.setImmediate,
  }[kind] as Function
  const set = (callback: TimerCallback, ...rest: unknown[]): unknown => {
    const session = currentSession()
    if (session === undefined || typeof callback !== 'function') return native(callback, ...rest)
    // Its callback exports what all runs have reported.
    if (isTelemetryCall(session)) return outsideRuns(() => native(callback, ...rest))
    // Node's fetch has one shared timeout for all connections, which belongs to no run.
    if (kind === 'timeout' && calledFrom('node:internal/deps/undici', 3))
      return native(callback, ...rest)
    if (kind === 'immediate') return new TapeTimer('immediate', 0, callback, rest)
    const ms = wholeMs(rest[0])
    const make = (): TapeTimer => new TapeTimer(kind, ms, callback, rest.slice(1))
    // A package that uses a zero delay only defers the agent's call.
    return kind === 'timeout' && ms === 1 ? withCallerOrigin(set, make) : make()
  }
  Object.defineProperty(set, 'name', { value: native.name })
  return set
}

function clearingFunction(native: (handle: any) => void) {
  return (handle: unknown): void => {
    const timer = TapeTimer.find(handle)
    if (timer) timer.stop()
    else native(handle)
  }
}

/** `AbortSignal.timeout` uses an internal timer that no patch can see. */
function patchAbortTimeout(): Undo {
  const nativeTimeout = AbortSignal.timeout.bind(AbortSignal)
  return replace(AbortSignal, 'timeout', (ms: number) => {
    if (currentSession() === undefined) return nativeTimeout(ms)
    const controller = new AbortController()
    const expire = (): void =>
      controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
    new TapeTimer('timeout', wholeMs(ms), expire).unref()
    return controller.signal
  })
}

interface WaitOptions {
  readonly signal?: AbortSignal
  readonly ref?: boolean
}

function wait<T>(
  kind: 'timeout' | 'immediate',
  ms: number,
  value: T,
  { signal, ref }: WaitOptions = {},
): Promise<T> {
  if (signal?.aborted === true) return Promise.reject(abortError(signal))
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      timer.stop()
      reject(abortError(signal))
    }
    const timer = new TapeTimer(kind, ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve(value)
    })
    signal?.addEventListener('abort', onAbort, { once: true })
    if (ref === false) timer.unref()
  })
}

const native = {
  timeout: timersPromises.setTimeout,
  immediate: timersPromises.setImmediate,
  interval: timersPromises.setInterval,
  wait: timersPromises.scheduler.wait.bind(timersPromises.scheduler),
  yield: timersPromises.scheduler.yield.bind(timersPromises.scheduler),
}

function waitTimeout<T>(ms?: number, value?: T, options?: WaitOptions): Promise<T | undefined> {
  return currentSession()
    ? wait('timeout', wholeMs(ms), value, options)
    : native.timeout(ms, value, options)
}

function waitImmediate<T>(value?: T, options?: WaitOptions): Promise<T | undefined> {
  return currentSession() ? wait('immediate', 0, value, options) : native.immediate(value, options)
}

/** The asynchronous iterator: unread ticks are counted, not lost. */
async function* everyInterval<T>(ms: number, value: T, options?: WaitOptions): AsyncGenerator<T> {
  const signal = options?.signal
  if (signal?.aborted === true) throw abortError(signal)
  let ticks = 0
  let wake: (() => void) | undefined
  const timer = new TapeTimer('interval', ms, () => {
    ticks += 1
    wake?.()
  })
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

/** `node:timers/promises`: Node's own functions use timers that no patch can see. */
function patchTimersPromises(): Undo {
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
