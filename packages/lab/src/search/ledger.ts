import {
  type ForkCounts,
  type BlameProbe,
  defined,
  type PassRate,
  type ProbePurpose,
  type Rate,
} from '@retake/tape'
import { labelRanges } from '@retake/tape/present'
import type { Coalition, Fork, ForkSource, StepValue } from './fork-source.js'
import { isPrefix, rangesText, type StepSet } from './step-set.js'
import { confidenceSequence, logBeta } from './stats.js'
import type { Levels, Tally } from './levels.js'

/** Thrown when a search may not fork any more. The search then returns what it knows so far. */
export class SearchStopped extends Error {
  override readonly name = 'SearchStopped'

  /** `why` is a sentence for users. */
  constructor(readonly why: string) {
    super(why)
  }
}

export interface SeenFork {
  readonly draw: number
  readonly isFail: boolean
  readonly values: readonly (StepValue | undefined)[]
  readonly repeatsError?: boolean | undefined
}

export interface LedgerCell {
  readonly coalition: Coalition
  /** Purpose of the first fork. */
  purpose: ProbePurpose
  /** Forks with a verdict, and how many of them failed. */
  forks: number
  fails: number
  undefinedForks: number
  /** True if the coalition fails; undefined while open. */
  verdict: boolean | undefined
  /** Forks with a verdict, in order of completion. */
  readonly seen: SeenFork[]
}

export interface LedgerLimits {
  readonly maxForks?: number
  /** Forks that ran before the search but count against `maxForks` (default: 0). */
  readonly forksBefore?: number
  /** Maximum cost. A fork that reports no cost counts as much as the most expensive one. */
  readonly maxUsd?: number
  /** Assumed cost of the most expensive fork until one costs more (default: 0). */
  readonly forkUsd?: number
  /** Stops the search, which then returns what it knows so far. */
  readonly signal?: AbortSignal
}

/**
 * All forks of a search, by coalition, so that a repeated query costs nothing. Forks of an earlier
 * search do not count against the limits.
 */
export class Ledger {
  readonly isDeterministic: boolean
  readonly concurrency: number
  readonly counts = { asked: 0, served: 0, undefined: 0, liveSteps: 0 }
  /** Missing if no fork reports them. */
  private tokens: number | undefined
  private costUsd: number | undefined
  onFork: ((cell: LedgerCell) => void) | undefined
  private readonly cells = new Map<string, LedgerCell>()
  private readonly asked: LedgerCell[] = []
  private readonly drawn = new Map<LedgerCell, number>()
  private readonly waiting: (() => void)[] = []
  private underWay = 0
  /** True if forks of one coalition had different outcomes. */
  hasChance = false
  /** True if a fork could not be run or was abandoned. Ends all other pending queries. */
  private isClosed = false
  private spentUsd = 0
  private highestForkUsd = 0

  constructor(
    private readonly source: ForkSource,
    private readonly limits: LedgerLimits,
  ) {
    this.isDeterministic = source.isDeterministic ?? false
    this.concurrency = Math.max(1, Math.floor(source.concurrency ?? 1))
    this.highestForkUsd = limits.forkUsd ?? 0
  }

  /** With every step pinned, both modes are the same coalition. */
  cell(wanted: Coalition): LedgerCell {
    const isWhole = wanted.pinned.length === this.source.stepCount
    const coalition: Coalition = isWhole ? { ...wanted, mode: 'free' } : wanted
    const key = keyOf(coalition)
    let cell = this.cells.get(key)
    if (!cell) {
      cell = {
        coalition,
        purpose: 'prefix',
        forks: 0,
        fails: 0,
        undefinedForks: 0,
        verdict: undefined,
        seen: [],
      }
      this.cells.set(key, cell)
    }
    return cell
  }

  /** True if more forks would add nothing: one was enough, or none comes to a verdict. */
  isExhausted(cell: LedgerCell): boolean {
    const { forks, undefinedForks } = cell
    if (this.isDeterministic) return forks + undefinedForks > 0
    return undefinedForks >= 8 && undefinedForks > 4 * forks
  }

  hasNoVerdict(cell: LedgerCell): boolean {
    return this.isExhausted(cell) && (cell.forks === 0 || !this.isDeterministic)
  }

  /** Forks a coalition `times` more times, as concurrently as the source allows. */
  async draw(cell: LedgerCell, purpose: ProbePurpose, times = 1): Promise<void> {
    const wanted = this.isDeterministic ? Math.min(1, times) : times
    for (let left = wanted; left > 0 && !this.isExhausted(cell);) {
      const batch = Math.min(left, this.concurrency)
      if (batch === 1) await this.drawOnce(cell, purpose)
      else await Promise.all(Array.from({ length: batch }, () => this.drawOnce(cell, purpose)))
      left -= batch
    }
  }

  private async drawOnce(cell: LedgerCell, purpose: ProbePurpose): Promise<void> {
    while (this.mustWait()) await new Promise<void>((resolve) => this.waiting.push(resolve))
    this.checkLimits()
    const draw = this.nextDraw(cell, purpose)
    this.underWay++
    try {
      const fork = await this.untilStopped(this.source.fork(cell.coalition, draw))
      this.count(cell, draw, fork)
    } catch (error) {
      this.isClosed = true
      throw error
    } finally {
      this.underWay--
      this.waiting.shift()?.()
    }
    this.onFork?.(cell)
  }

  /** Running forks may turn out to be served from storage, which leaves room within the limits. */
  private mustWait(): boolean {
    if (this.underWay === 0) return false
    return this.underWay >= this.concurrency || this.reachedLimit() !== undefined
  }

  /** Assigned when the fork starts, so that concurrent forks get different numbers. */
  private nextDraw(cell: LedgerCell, purpose: ProbePurpose): number {
    const draw = this.drawn.get(cell) ?? 0
    if (draw === 0) {
      this.asked.push(cell)
      cell.purpose = purpose
    }
    this.drawn.set(cell, draw + 1)
    return draw
  }

  private checkLimits(): void {
    if (this.isClosed) throw new SearchStopped('A fork could not be run.')
    if (this.limits.signal?.aborted) throw new SearchStopped('It was stopped.')
    const limit = this.reachedLimit()
    if (limit) throw new SearchStopped(limit)
  }

  private reachedLimit(): string | undefined {
    const { maxForks = Infinity, forksBefore = 0, maxUsd = Infinity } = this.limits
    if (maxForks <= 0) return 'No forks were allowed.'
    const ran = forksBefore + this.counts.asked - this.counts.served
    if (ran + this.underWay >= maxForks) {
      return `The limit of ${maxForks} forks was reached.`
    }
    if (maxUsd <= 0 || this.spentUsd + this.highestForkUsd * (this.underWay + 1) > maxUsd) {
      return `One more fork could exceed the limit of $${maxUsd}.`
    }
    return undefined
  }

  /** Does not abort the fork: the source still stores it. */
  private untilStopped(fork: Promise<Fork>): Promise<Fork> {
    const { signal } = this.limits
    if (!signal) return fork
    return new Promise((resolve, reject) => {
      const stop = () => reject(new SearchStopped('It was stopped.'))
      if (signal.aborted) stop()
      signal.addEventListener('abort', stop, { once: true })
      const settle = () => signal.removeEventListener('abort', stop)
      fork.then(resolve, reject).finally(settle)
    })
  }

  private count(cell: LedgerCell, draw: number, fork: Fork): void {
    const { counts } = this
    const { pinned, given = [] } = cell.coalition
    counts.asked++
    counts.liveSteps += this.source.stepCount - pinned.length - given.length
    if (fork.tokens !== undefined) this.tokens = (this.tokens ?? 0) + fork.tokens
    if (fork.costUsd !== undefined) this.costUsd = (this.costUsd ?? 0) + fork.costUsd
    if (fork.isServed) counts.served++
    else {
      // A fork without a cost may have cost as much as the most expensive one.
      this.spentUsd += fork.costUsd ?? this.highestForkUsd
      this.highestForkUsd = Math.max(this.highestForkUsd, fork.costUsd ?? 0)
    }
    if (fork.outcome === 'undefined') {
      counts.undefined++
      cell.undefinedForks++
      return
    }
    const isFail = fork.outcome === 'fail'
    cell.forks++
    if (isFail) cell.fails++
    if (cell.fails > 0 && cell.fails < cell.forks) this.hasChance = true
    cell.seen.push({ draw, isFail, values: fork.values, repeatsError: fork.repeatsError })
  }

  /** All coalitions, in the order in which they were tried. */
  evidence(labels: readonly string[]): BlameProbe[] {
    return this.transplantsMerged().map((cell) => probeOf(cell, labels))
  }

  /** Merges transplants that differ only in the fork their values came from. */
  private transplantsMerged(): LedgerCell[] {
    const merged = new Map<string, LedgerCell>()
    for (const cell of this.asked) {
      const { given = [], ...coalition } = cell.coalition
      const same = given.map((each) => ({ ...each, draw: 0 }))
      const key = keyOf({ ...coalition, given: same })
      const known = merged.get(key)
      if (known === undefined) merged.set(key, { ...cell })
      else {
        known.forks += cell.forks
        known.fails += cell.fails
        known.undefinedForks += cell.undefinedForks
      }
    }
    return [...merged.values()]
  }

  /** The prefixes that were tried with these ambient inputs pinned, shortest first. */
  prefixes(ambient: StepSet): LedgerCell[] {
    const isSameContext = (at: Coalition) => rangesText(at.ambient) === rangesText(ambient)
    return this.asked
      .filter(({ coalition }) => coalition.mode === 'free' && !coalition.given?.length)
      .filter(({ coalition }) => isPrefix(coalition.pinned) && isSameContext(coalition))
      .toSorted((a, b) => a.coalition.pinned.length - b.coalition.pinned.length)
  }

  forkCounts(): ForkCounts {
    return { ...this.counts, ...defined({ tokens: this.tokens, costUsd: this.costUsd }) }
  }
}

function keyOf({ pinned, mode, ambient, given = [] }: Coalition): string {
  const others = given.map(({ step, from, draw }) => `${step} from ${keyOf(from)} #${draw}`)
  return [mode, rangesText(pinned), rangesText(ambient), ...others].join(' | ')
}

export function probeOf(cell: LedgerCell, labels: readonly string[]): BlameProbe {
  const { pinned, mode, ambient, given = [] } = cell.coalition
  const transplants = given.map(({ step, from }) => ({
    step: labels[step]!,
    from: labelRanges(from.pinned, labels),
  }))
  return {
    purpose: cell.purpose,
    mode,
    pinned: labelRanges(pinned, labels),
    ...(ambient.length > 0 && { ambient }),
    ...(given.length > 0 && { given: transplants }),
    rate: rateOf(cell),
    undefinedForks: cell.undefinedForks,
    ...defined({ fails: cell.verdict }),
  }
}

/** Failure rate, with bounds that hold at any stopping time. */
export function rateOf({ fails, forks }: Tally): Rate {
  return { fails, forks, ...confidenceSequence(fails, forks) }
}

/** Pass rate, with the same bounds. */
export function passRateOf(counted: Tally): PassRate {
  const { fails, forks, low, high } = rateOf(counted)
  return { passes: forks - fails, forks, low: 1 - high, high: 1 - low }
}

/** Log likelihood ratio: the first tally has a higher failure rate, against equal rates. */
export function logOddsOfTwoRates(levels: Levels, higher: Tally, lower: Tally): number {
  const fails = higher.fails + lower.fails
  const passes = higher.forks + lower.forks - fails
  const ifSame = logBeta(fails + 0.5, passes + 0.5) - Math.log(Math.PI)
  return levels.logEvidence(higher, lower) - ifSame
}
