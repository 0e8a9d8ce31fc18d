import timers from 'node:timers'
import { promisify } from 'node:util'
import { calledFrom, fromHere } from '../call-site.js'
import { natives } from '../natives.js'
import { currentSession } from '../scope.js'
import { replace, undoAll } from './patch.js'
import type { Undo } from './patch.js'
import { TapeTimer, wholeMs } from './tape-timer.js'
import type { TimerCallback, TimerKind } from './tape-timer.js'
import { patchTimersPromises, waitImmediate, waitTimeout } from './timers-promises.js'

/**
 * Timers of every kind. While recording they wait natively and fire through the
 * gate; on replay they fire from the tape, without waiting.
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
    if (currentSession() === undefined || typeof callback !== 'function')
      return native(callback, ...rest)
    // Node's own fetch keeps one shared timeout for all connections: it belongs to no run.
    if (kind === 'timeout' && calledFrom('node:internal/deps/undici', 3))
      return native(callback, ...rest)
    if (kind === 'immediate') return new TapeTimer('immediate', 0, callback, rest)
    const ms = wholeMs(rest[0])
    const make = (): TapeTimer => new TapeTimer(kind, ms, callback, rest.slice(1))
    // A package that does not wait only defers what the agent called it for.
    return kind === 'timeout' && ms === 1 ? fromHere(set, make) : make()
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

/** `AbortSignal.timeout` uses a timer inside Node that no patch can see. */
function patchAbortTimeout(): Undo {
  const nativeTimeout = AbortSignal.timeout.bind(AbortSignal)
  return replace(AbortSignal, 'timeout', (ms: number) => {
    if (currentSession() === undefined) return nativeTimeout(ms)
    const controller = new AbortController()
    const expire = (): void =>
      controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
    new TapeTimer('timeout', wholeMs(ms), expire, []).unref()
    return controller.signal
  })
}
