import { natives } from '../../kernel/natives.js'
import { currentSession } from '../../kernel/scope.js'
import type { Operation, Session } from '../../kernel/session.js'

export type TimerKind = 'timeout' | 'interval' | 'immediate'
export type TimerCallback = (...args: unknown[]) => void

const MAX_MS = 0x7fff_ffff

/** A delay as Node interprets it: an invalid or too long one becomes 1 ms. */
export function wholeMs(ms: unknown): number {
  const number = Number(ms)
  return number >= 1 && number <= MAX_MS ? Math.trunc(number) : 1
}

/**
 * Result of `setTimeout` inside a run, with every method of Node's timer. After the end of the run,
 * for a connection that outlives it, it is a native timer.
 */
export class TapeTimer {
  static readonly #byId = new WeakMap<Session, Map<number, TapeTimer>>()
  readonly #operation: Operation | undefined
  #onTime: () => void
  #native: NodeJS.Timeout | NodeJS.Immediate | undefined
  #referenced = true
  #stopped = false
  #wasRefreshed = false
  /** Counts starts of the native wait; `refresh()` invalidates the previous one. */
  #armings = 0

  constructor(
    readonly kind: TimerKind,
    readonly ms: number,
    callback: TimerCallback,
    args: unknown[] = [],
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
          // The time of the last refresh is not on the tape, so the timer waits for its full delay.
          this.#arm(this.#wasRefreshed ? 0 : operation.underWayMs)
        },
        deliver: fire,
      })
      this.#remember()
    }
  }

  /** The timer of a handle; a number refers to a timer of the current run. */
  static find(handle: unknown): TapeTimer | undefined {
    if (handle instanceof TapeTimer) return handle
    if (typeof handle !== 'number' && typeof handle !== 'string') return undefined
    const session = currentSession()
    return session && TapeTimer.#byId.get(session)?.get(Number(handle))
  }

  /** `waitedMs`: the elapsed part of the delay. */
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

  /** Restarts the delay; a fired timeout becomes active again. */
  refresh(): this {
    if (this.#stopped || this.kind === 'immediate') return this
    this.#wasRefreshed = true
    const operation = this.#operation
    if (operation?.session.local !== 'tape') {
      if (this.#native !== undefined) this.#disarm()
      this.#arm()
    }
    operation?.session.refreshed(operation)
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
