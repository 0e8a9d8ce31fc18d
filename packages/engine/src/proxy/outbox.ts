/** When many are served, the next release waits a moment, so that more shares it. */
const GATHER_MS = 2

/**
 * What clients are about to see, kept back until it is on the tape. Everything
 * that arrives in one turn of the event loop, from all providers together, costs
 * one write to the tape; then it goes out, in the order it came.
 */
export class Outbox {
  readonly #flush: () => void
  readonly #isBusy: () => boolean
  #waiting: (() => void)[] = []
  #isScheduled = false
  #releasedAt = -Infinity

  /** `flush` writes the tape and never throws. */
  constructor(flush: () => void, isBusy: () => boolean) {
    this.#flush = flush
    this.#isBusy = isBusy
  }

  /** Something is to be written at the end of this turn. */
  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    if (this.#isBusy() && performance.now() - this.#releasedAt < GATHER_MS)
      setTimeout(() => this.release(), GATHER_MS)
    else setImmediate(() => this.release())
  }

  add(show: () => void): void {
    this.#waiting.push(show)
    this.schedule()
  }

  /** Writes and shows now. */
  release(): void {
    this.#isScheduled = false
    this.#releasedAt = performance.now()
    this.#flush()
    const shown = this.#waiting
    this.#waiting = []
    for (const show of shown) show()
  }
}
