import type { Clock } from '../../packages/guard/src/limits/clock.js'

/** A clock that tests wind. */
export class TestClock implements Clock {
  #now = 0
  #timers: { readonly at: number; readonly work: () => void }[] = []
  /** What `random` says. */
  chance = 0.5
  /** How long each pause was asked to be. */
  readonly asked: number[] = []

  constructor(readonly epoch = Date.UTC(2026, 10, 15)) {}

  now(): number {
    return this.#now
  }

  date(): number {
    return this.epoch + this.#now
  }

  random(): number {
    return this.chance
  }

  after(ms: number, work: () => void): () => void {
    const timer = { at: this.#now + ms, work }
    this.asked.push(ms)
    this.#timers.push(timer)
    return () => void (this.#timers = this.#timers.filter((each) => each !== timer))
  }

  get pending(): number {
    return this.#timers.length
  }

  /** Lets time pass during synchronous work: no timer runs. */
  advance(ms: number): void {
    this.#now += ms
  }

  /** Lets time pass; what is due happens in order, with everything it causes. */
  async pass(ms: number): Promise<void> {
    const until = this.#now + ms
    for (;;) {
      await settled()
      const due = this.#timers.filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.#timers = this.#timers.filter((each) => each !== due)
      this.#now = Math.max(this.#now, due.at)
      due.work()
    }
    this.#now = until
  }
}

/** Everything that promises have to do is done. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
