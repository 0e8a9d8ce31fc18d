/** The longest delay of a timer. A longer one would fire immediately. */
const TIMER_MAX_MS = 2 ** 31 - 1

/**
 * The deadlines that end with a signal. They share one listener, because Node warns about more than
 * ten, and it holds them as long as the signal exists.
 */
const followers = new WeakMap<AbortSignal, Set<(reason: unknown) => void>>()

function follow(signal: AbortSignal, abort: (reason: unknown) => void): void {
  const known = followers.get(signal)
  if (known !== undefined) {
    known.add(abort)
    return
  }
  const all = new Set([abort])
  followers.set(signal, all)
  const onAbort = (): void => {
    for (const each of all) each(signal.reason)
  }
  signal.addEventListener('abort', onAbort, { once: true })
}

/**
 * A signal that aborts when `ms` have passed or when one of `signals` aborts, whichever comes first.
 *
 * Replaces `AbortSignal.any([AbortSignal.timeout(ms), …])`: nothing holds that timeout, so Node 20
 * collects it as garbage while somebody waits for it. Here, the timer and the signals hold everything
 * that they abort, until the deadline has aborted or is released. A deadline that is not released
 * keeps the process alive until its time.
 */
export class Deadline {
  readonly #controller = new AbortController()
  readonly #signals: readonly AbortSignal[]
  #timer: ReturnType<typeof setTimeout> | undefined
  #isPast = false

  constructor({
    ms,
    signals = [],
  }: {
    readonly ms?: number
    readonly signals?: readonly (AbortSignal | undefined)[]
  }) {
    this.#signals = signals.filter((each) => each !== undefined)
    const aborted = this.#signals.find((each) => each.aborted)
    if (aborted !== undefined) this.#abort(aborted.reason)
    else {
      for (const each of this.#signals) follow(each, this.#abort)
      if (ms !== undefined) this.#wait(ms)
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** True if the time ran out before one of the signals aborted. */
  get isPast(): boolean {
    return this.#isPast
  }

  /** Stops waiting. The signal does not abort anymore. */
  release(): void {
    clearTimeout(this.#timer)
    for (const each of this.#signals) followers.get(each)?.delete(this.#abort)
  }

  [Symbol.dispose](): void {
    this.release()
  }

  readonly #abort = (reason: unknown): void => {
    this.release()
    this.#controller.abort(reason)
  }

  #wait(ms: number): void {
    const onTime = (): void => {
      if (ms > TIMER_MAX_MS) return this.#wait(ms - TIMER_MAX_MS)
      this.#isPast = true
      // As `AbortSignal.timeout` does it.
      const what = 'The operation was aborted due to timeout'
      this.#abort(new DOMException(what, 'TimeoutError'))
    }
    this.#timer = setTimeout(onTime, Math.min(ms, TIMER_MAX_MS))
  }
}
