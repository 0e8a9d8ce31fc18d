import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { promisify } from 'node:util'
import { calledFrom } from '../call-site.js'
import { natives } from '../natives.js'
import { currentSession } from '../scope.js'
import type { Operation, Session } from '../sessions/session.js'
import { replace, undoAll } from './patch.js'
import type { Undo } from './patch.js'

type Kind = 'timeout' | 'interval' | 'immediate'
type Callback = (...args: unknown[]) => void

const MAX_MS = 0x7fff_ffff

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
    ...patchTimersPromises(),
    patchAbortTimeout(),
  ])
}

/**
 * What `setTimeout` returns inside a run; has every method of Node's own. Made
 * when the run is over, by a connection it left behind, it is a native timer.
 */
export class TapeTimer {
  static readonly #byId = new WeakMap<Session, Map<number, TapeTimer>>()
  readonly #operation: Operation | undefined
  #onTime: () => void
  #native: NodeJS.Timeout | NodeJS.Immediate | undefined
  #referenced = true
  #stopped = false
  #wasRefreshed = false
  /** Starts of the native wait; a `refresh()` makes an older one void. */
  #armings = 0

  constructor(
    readonly kind: Kind,
    readonly ms: number,
    callback: Callback,
    args: unknown[],
  ) {
    const fire = (): void => {
      if (kind !== 'interval') this.#forget()
      Reflect.apply(callback, this, args)
    }
    this.#onTime = fire
    const session = currentSession()
    if (session === undefined) this.#arm()
    else {
      this.#operation = session.perform({
        event: { type: 'timer', kind, ms },
        start: (operation) => {
          this.#onTime = () => operation.complete({ type: 'deliver', part: 'fire' })
          // When it was refreshed last is not on the tape: it waits in full then.
          this.#arm(this.#wasRefreshed ? 0 : operation.underWayMs)
        },
        deliver: fire,
      })
      this.#remember()
    }
  }

  /** The timer of this handle; a number means one of the current run. */
  static find(handle: unknown): TapeTimer | undefined {
    if (handle instanceof TapeTimer) return handle
    if (typeof handle !== 'number' && typeof handle !== 'string') return undefined
    const session = currentSession()
    return session && TapeTimer.#byId.get(session)?.get(Number(handle))
  }

  /** `waitedMs`: how much of the wait of a timeout is over already. */
  #arm(waitedMs = 0): void {
    const arming = ++this.#armings
    const onTime = (): void => {
      if (arming === this.#armings) this.#onTime()
    }
    if (this.kind === 'immediate') this.#native = natives.setImmediate(onTime)
    else if (this.kind === 'interval') this.#native = natives.setInterval(onTime, this.ms)
    else this.#native = natives.setTimeout(onTime, Math.max(1, this.ms - waitedMs))
    if (!this.#referenced) this.#native.unref()
  }

  #disarm(): void {
    this.#armings += 1
    if (this.kind === 'immediate') natives.clearImmediate(this.#native as NodeJS.Immediate)
    else natives.clearTimeout(this.#native as NodeJS.Timeout)
    this.#native = undefined
  }

  #remember(): void {
    if (this.#operation === undefined) return
    const { id, session } = this.#operation
    const timers = TapeTimer.#byId.get(session) ?? new Map<number, TapeTimer>()
    TapeTimer.#byId.set(session, timers.set(id, this))
  }

  #forget(): void {
    if (this.#operation === undefined) return
    const { id, session } = this.#operation
    session.forget(this.#operation)
    TapeTimer.#byId.get(session)?.delete(id)
  }

  stop(): void {
    this.#stopped = true
    if (this.#native !== undefined) this.#disarm()
    this.#operation?.close()
    this.#forget()
  }

  close(): this {
    this.stop()
    return this
  }

  /** Starts the wait again from now; a fired timeout comes back to life. */
  refresh(): this {
    if (this.#stopped || this.kind === 'immediate') return this
    this.#wasRefreshed = true
    const operation = this.#operation
    if (operation?.session.replaying !== true) {
      if (this.#native !== undefined) this.#disarm()
      this.#arm()
    }
    operation?.session.restart(operation)
    this.#remember()
    return this
  }

  ref(): this {
    this.#referenced = true
    this.#native?.ref()
    return this
  }

  unref(): this {
    this.#referenced = false
    this.#native?.unref()
    return this
  }

  hasRef(): boolean {
    return this.#referenced
  }

  [Symbol.toPrimitive](): number {
    return this.#operation?.id ?? 0
  }

  [Symbol.dispose](): void {
    this.stop()
  }
}

function settingFunction(kind: Kind) {
  const native = {
    timeout: natives.setTimeout,
    interval: natives.setInterval,
    immediate: natives.setImmediate,
  }[kind] as Function
  const set = (callback: Callback, ...rest: unknown[]): unknown => {
    if (currentSession() === undefined || typeof callback !== 'function')
      return native(callback, ...rest)
    // Node's own fetch keeps one shared timeout for all connections: it belongs to no run.
    if (kind === 'timeout' && calledFrom('node:internal/deps/undici', 3))
      return native(callback, ...rest)
    if (kind === 'immediate') return new TapeTimer('immediate', 0, callback, rest)
    return new TapeTimer(kind, wholeMs(rest[0]), callback, rest.slice(1))
  }
  Object.defineProperty(set, 'name', { value: native.name })
  return set
}

function wholeMs(ms: unknown): number {
  const number = Number(ms)
  return number >= 1 && number <= MAX_MS ? Math.trunc(number) : 1
}

function clearingFunction(native: (handle: any) => void) {
  return (handle: unknown): void => {
    const timer = TapeTimer.find(handle)
    if (timer) timer.stop()
    else native(handle)
  }
}

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

function waitTimeout<T>(ms?: number, value?: T, options?: WaitOptions): Promise<T | undefined> {
  return currentSession()
    ? wait('timeout', wholeMs(ms), value, options)
    : native.timeout(ms, value, options)
}

function waitImmediate<T>(value?: T, options?: WaitOptions): Promise<T | undefined> {
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

function patchTimersPromises(): Undo[] {
  const scheduler = Object.getPrototypeOf(timersPromises.scheduler) as object
  return [
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
  ]
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
