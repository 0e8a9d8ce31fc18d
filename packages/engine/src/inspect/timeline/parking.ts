import type { Moments } from './moments.js'
import type { Runner } from './runner.js'

/** A process on its way to where it will be parked. */
export interface Job {
  readonly runner: Runner
  readonly to: number
  readonly done: Promise<void>
  /** When it should be there, as `performance.now()` counts. */
  readonly expectedAt: number
}

/** Which processes are parked where, which are on their way, and how long ways take. */
export class Parking {
  readonly parked = new Set<Runner>()
  readonly jobs = new Set<Job>()
  /** Milliseconds of replay until each moment is reached; undefined until that was measured. */
  costs: readonly number[] | undefined
  readonly #moments: Moments

  constructor(moments: Moments) {
    this.#moments = moments
  }

  /** Parks a process where it stands, for as long as it lives. */
  add(runner: Runner): void {
    this.parked.add(runner)
    void this.#removeWhenGone(runner)
  }

  get count(): number {
    return this.parked.size + this.jobs.size
  }

  /** Moments before which a process is parked, in order. */
  get positions(): readonly number[] {
    return [...this.parked].map((runner) => this.indexOf(runner)).toSorted((a, b) => a - b)
  }

  /** The first moment a process has not passed. */
  indexOf(runner: Runner): number {
    return runner.from === Infinity ? Infinity : this.#moments.firstFrom(runner.from)
  }

  /** 0 as long as nobody knows. */
  cost(index: number): number {
    return this.costs?.[Math.min(index, this.costs.length - 1)] ?? 0
  }

  /** How long a process needs to a moment; a new one begins at nothing. */
  wayMs(runner: Runner | undefined, to: number): number {
    const isNew = runner === undefined || runner.from === 0
    return this.cost(to) - (isNew ? 0 : this.cost(this.indexOf(runner)))
  }

  /** The one closest before a moment, which may be the user's own. */
  nearest(index: number, own: Runner | undefined): Runner | undefined {
    const before = [...(own ? [own] : []), ...this.parked].filter(
      (runner) => this.indexOf(runner) <= index,
    )
    return before.toSorted((a, b) => b.from - a.from)[0]
  }

  /** One on its way that gets to a moment sooner than `best`, although it must arrive first. */
  worthWaitingFor(index: number, best: Runner | undefined): Job | undefined {
    const withoutMs = this.wayMs(best, index)
    const waitMs = ({ expectedAt, to }: Job): number =>
      Math.max(0, expectedAt - performance.now()) + this.cost(index) - this.cost(to)
    return [...this.jobs]
      .filter((job) => job.to <= index && waitMs(job) < withoutMs)
      .toSorted((a, b) => waitMs(a) - waitMs(b))[0]
  }

  /** How much longer jumps right behind a process would take without it. */
  gapBefore(runner: Runner): number {
    const index = this.indexOf(runner)
    const before = this.positions.findLast((position) => position < index)
    return this.cost(index) - (before === undefined ? 0 : this.cost(before))
  }

  async #removeWhenGone(runner: Runner): Promise<void> {
    await runner.gone
    this.parked.delete(runner)
  }
}
