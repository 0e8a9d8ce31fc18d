import type { ForkSource } from './fork-source.js'
import { Ledger, type LedgerLimits, SearchStopped } from './ledger.js'
import type { Tally } from './levels.js'
import { betaCdf, type Interval, wilson } from './stats.js'
import { upTo } from './step-set.js'
import type { BlameMode } from '@retake/tape'

/** Runs a fixed number of forks at a time, until a limit is reached. */
export class CountedForks {
  readonly #ledger: Ledger
  /** True if a limit or the user stopped it. No more forks run. */
  isStopped = false

  constructor(source: ForkSource, limits: LedgerLimits = {}) {
    const { stepCount, recorded, ambient, concurrency = 1 } = source
    const fork: ForkSource['fork'] = (coalition, draw) => source.fork(coalition, draw)
    // Every step gets the same number of forks, even where one would be enough.
    this.#ledger = new Ledger({ stepCount, recorded, ambient, concurrency, fork }, limits)
  }

  get asked(): number {
    return this.#ledger.counts.asked
  }

  get undefinedForks(): number {
    return this.#ledger.counts.undefined
  }

  /** Results of `times` more forks of a coalition, without undefined ones. */
  async run(pinned: readonly number[], times: number, mode: BlameMode = 'free'): Promise<Tally> {
    const cell = this.#ledger.cell({ pinned, mode, ambient: [] })
    const { fails, forks } = cell
    try {
      if (!this.isStopped) await this.#ledger.draw(cell, 'prefix', times)
    } catch (error) {
      if (!(error instanceof SearchStopped)) throw error
      this.isStopped = true
    }
    return { fails: cell.fails - fails, forks: cell.forks - forks }
  }
}

export interface ClassicOptions extends FlipOptions, Omit<LedgerLimits, 'forksBefore'> {
  /** Display names of the steps; by default their numbers, from 1. */
  readonly labels?: readonly string[]
  /** Number of forks per prefix when computing shares. */
  readonly rounds?: number
}

/** A step as seen by methods that test one step at a time. */
export interface ClassicStep {
  readonly label: string
  readonly flip: FlipRate
  /** Its temporal Shapley share. */
  readonly share: number
  /** According to these measures only; the search decides differently. */
  readonly isNecessary: boolean
  readonly isSufficient: boolean
}

/** For comparison with the search. Ranks steps, but names no cause. */
export interface ClassicView {
  readonly steps: readonly ClassicStep[]
  readonly forksPerStep: number
  readonly rounds: number
  readonly falseShare: number
  readonly forks: number
  readonly undefinedForks: number
  /** True if a limit or the user stopped it. The remaining steps have no forks. */
  readonly isStopped: boolean
}

const FORKS_PER_STEP = 5
const ROUNDS = 3
const FALSE_SHARE = 0.1

/** Flip rate and temporal Shapley share of every step, with a fixed number of forks each. */
export async function classicView(
  source: ForkSource,
  options: ClassicOptions = {},
): Promise<ClassicView> {
  const { forksPerStep = FORKS_PER_STEP, rounds = ROUNDS, falseShare = FALSE_SHARE } = options
  const forks = new CountedForks(source, options)
  const flips = await flipRates(source, { ...options, forksPerStep, falseShare }, forks)
  const shares = await temporalShapley(source, { forksPerStep, rounds }, forks)
  const steps = flips.map((flip, step) => ({
    label: options.labels?.[step] ?? String(step + 1),
    flip,
    share: shares[step]!,
    isNecessary: shares[step]! >= 0.5,
    isSufficient: flip.forks > 0 && flip.fails / flip.forks >= 0.5,
  }))
  const { asked, undefinedForks, isStopped } = forks
  return { steps, forksPerStep, rounds, falseShare, forks: asked, undefinedForks, isStopped }
}

/** How often the run fails with only one step pinned. */
export interface FlipRate extends Interval {
  /** Bounds are Wilson's, for a number of forks fixed beforehand. */
  readonly fails: number
  readonly forks: number
  /** Probability of at least this many failures at the base rate. */
  readonly chance: number
  /** True if significant among all steps (Benjamini–Hochberg). */
  readonly isBelieved: boolean
}

interface FlipOptions {
  readonly forksPerStep?: number
  /** Share of false findings among the accepted ones. */
  readonly falseShare?: number
  /** How often a run fails without any cause. */
  readonly baseRate?: number
}

/**
 * Pins one step at a time. An echo fails like its root, and half of a joint cause does not fail at
 * all, so this ranks steps but cannot blame them.
 */
export async function flipRates(
  source: ForkSource,
  { forksPerStep = 10, falseShare = 0.1, baseRate = 0.05 }: FlipOptions = {},
  forks = new CountedForks(source),
): Promise<FlipRate[]> {
  const counted = []
  for (let step = 0; step < source.stepCount; step++)
    counted.push(await forks.run([step], forksPerStep))
  const chances = counted.map((each) => binomialTail(each.fails, each.forks, baseRate))
  const believed = benjaminiHochberg(chances, falseShare)
  return counted.map((each, step) => ({
    ...each,
    ...wilson(each.fails, each.forks),
    chance: chances[step]!,
    isBelieved: believed[step]!,
  }))
}

/**
 * Benjamini–Hochberg procedure: on average at most a share `q` of the accepted findings is false.
 * Returns true for each accepted p-value.
 */
export function benjaminiHochberg(chances: readonly number[], q: number): boolean[] {
  const rising = chances.toSorted((a, b) => a - b)
  let bar = -1
  for (const [rank, chance] of rising.entries())
    if (chance <= (q * (rank + 1)) / chances.length) bar = chance
  return chances.map((chance) => chance <= bar)
}

/** Probability of at least this many failures in `forks`, if each fails at this rate. */
export function binomialTail(fails: number, forks: number, rate: number): number {
  if (fails <= 0) return 1
  if (fails > forks) return 0
  return betaCdf(rate, fails, forks - fails + 1)
}

/**
 * How much each step adds to the failure rate when steps are pinned one after another, in recorded
 * order. The last member of a joint cause gets the whole share.
 */
export async function temporalShapley(
  source: ForkSource,
  { forksPerStep = 5, rounds = 3 }: Pick<ClassicOptions, 'forksPerStep' | 'rounds'> = {},
  forks = new CountedForks(source),
): Promise<number[]> {
  const shares: number[] = upTo(source.stepCount - 1).map(() => 0)
  for (let round = 0; round < rounds; round++) {
    let before = 0
    for (let step = 0; step < source.stepCount; step++) {
      const counted = await forks.run(upTo(step), forksPerStep)
      const rate = counted.forks > 0 ? counted.fails / counted.forks : before
      shares[step]! += (rate - before) / rounds
      before = rate
    }
  }
  return shares
}
