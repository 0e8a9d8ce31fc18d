import { natives } from '../natives.js'
import { currentSession } from '../scope.js'
import type { Operation, Session } from '../sessions/session.js'

export type TimerKind = 'timeout' | 'interval' | 'immediate'
export type TimerCallback = (...args: unknown[]) => void

const MAX_MS = 0x7fff_ffff

/** A delay as Node takes it: what is none, or too long, is the shortest. */
export function wholeMs(ms: unknown): number {
  const number = Number(ms)
  return number >= 1 && number <= MAX_MS ? Math.trunc(number) : 1
}

/**
 * The result of `setTimeout` inside a run; has every method of Node's own. Made
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
    if (operation?.session.local !== 'tape') {
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
