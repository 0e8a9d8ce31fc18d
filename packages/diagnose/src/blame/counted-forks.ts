import type { BlameMode } from '@retake/tape'
import type { ForkSource } from './fork-source.js'

/** How many forks may be spent, and who may end it. */
export interface ForkLimits {
  readonly maxForks?: number
  /** At most this much money, as far as forks report it. */
  readonly maxUsd?: number
  /** What one fork may cost before any is known. */
  readonly forkUsd?: number
  readonly signal?: AbortSignal
  /** Told after each fork how many there were. */
  readonly onFork?: (asked: number) => void
}

/** What forks of one coalition came to; undefined ones are left out. */
export interface Counted {
  readonly fails: number
  readonly forks: number
}

/** Asks a source for a fixed number of forks at a time, and counts what it cost. */
export class CountedForks {
  asked = 0
  undefinedForks = 0
  readonly #drawn = new Map<string, number>()
  #underWay = 0
  #spentUsd = 0
  #dearestUsd: number

  constructor(
    private readonly source: ForkSource,
    private readonly limits: ForkLimits = {},
  ) {
    this.#dearestUsd = limits.forkUsd ?? 0
  }

  /** Whether forks that were asked for will not be run. */
  get isStopped(): boolean {
    const { maxForks = Infinity, maxUsd = Infinity, signal } = this.limits
    const atMostUsd = this.#spentUsd + this.#dearestUsd * (this.#underWay + 1)
    if (maxUsd <= 0 || atMostUsd > maxUsd) return true
    return this.asked >= maxForks || signal?.aborted === true
  }

  /** Runs a coalition so many times more, as many at once as the source takes. */
  async run(pinned: readonly number[], times: number, mode: BlameMode = 'free'): Promise<Counted> {
    const key = `${mode}:${pinned.join(',')}`
    let fails = 0
    let forks = 0
    let left = times
    const lane = async () => {
      while (left > 0 && !this.isStopped) {
        left--
        this.asked++
        const draw = this.#drawn.get(key) ?? 0
        this.#drawn.set(key, draw + 1)
        this.#underWay++
        const { outcome, isServed, costUsd } = await this.source
          .fork({ pinned, mode }, draw)
          .finally(() => this.#underWay--)
        const usd = isServed ? 0 : (costUsd ?? this.#dearestUsd)
        this.#spentUsd += usd
        this.#dearestUsd = Math.max(this.#dearestUsd, usd)
        if (outcome === 'undefined') this.undefinedForks++
        else forks++
        if (outcome === 'fail') fails++
        this.limits.onFork?.(this.asked)
      }
    }
    const lanes = Math.min(times, this.source.concurrency ?? 1)
    await Promise.all(Array.from({ length: lanes }, lane))
    return { fails, forks }
  }
}

/** The steps from 0 up to, without, this one. */
export function stepsBefore(end: number): number[] {
  return Array.from({ length: end }, (_, step) => step)
}
