import type { BlameMode, BlameProbe, ProbePurpose, StepIntervention } from '@retake/tape'
import type { Coalition, ForkSource } from './fork-source.js'
import type { Learned } from './learn-causes.js'
import { type LedgerCell, type LedgerLimits, Ledger } from './ledger.js'
import { Levels, type Tally } from './levels.js'
import { type Random, seededRandom } from './seeded-random.js'
import { type StepSet, upTo } from './step-set.js'

const PHASES = ['anchors', 'ambient', 'cause', 'back-ups', 'audit', 'echoes'] as const

type Phase = (typeof PHASES)[number]

/**
 * Estimated forks of a phase if the first cause has one or two steps. Bisection takes one query per
 * doubling of the number of steps.
 */
function forksOfPhase(phase: Phase, stepCount: number, forksPerQuery: number): number {
  const halvings = Math.ceil(Math.log2(Math.max(2, stepCount)))
  const queries = {
    anchors: 4,
    ambient: 0,
    cause: halvings + 4,
    'back-ups': 1,
    audit: 10,
    echoes: 2,
  }
  return Math.ceil(queries[phase] * forksPerQuery)
}

/** Maximum number of forks with a verdict per query. */
const MAX_DRAWS = 100

/** Number of forks after which the rate of an anchor is well known. */
const FIRM_FORKS = 16

/** A query that is still open after this many forks is a difficult one. */
const OPEN_AFTER = 8

/** Evidence required to overturn a learned fact. */
export const CONFIRMED = { fails: Math.log(1e4), passes: Math.log(1e4), maxDraws: 3 * MAX_DRAWS }

/** Log likelihood ratios at which a query is settled. */
export interface Bars {
  readonly fails: number
  readonly passes: number
  readonly maxDraws?: number
}

export interface BlameOptions extends LedgerLimits {
  /** Display names of the steps; by default their numbers, from 1. */
  readonly labels?: readonly string[]
  /** How each step is answered while it is free; live by default. */
  readonly interventions?: readonly StepIntervention[]
  /** Probability that each step is the cause, before any fork. Only orders the search. */
  readonly prior?: readonly number[]
  /** Allowed error rate of each test (default: 0.01). */
  readonly errorRate?: number
  /** Seed for the choice of audits. The same seed makes the same forks. */
  readonly seed?: number
  /** Maximum number of causes (default: 4). */
  readonly maxCauses?: number
  /** Tells steps that repeat a cause from clear ones (default: true). */
  readonly echoes?: boolean
  readonly onProgress?: (progress: BlameProgress) => void
}

export interface BlameProgress {
  readonly forks: number
  readonly remaining: number
  readonly probe: BlameProbe
}

export type SearchOptions = BlameOptions &
  Required<Pick<BlameOptions, 'errorRate' | 'seed' | 'maxCauses' | 'echoes'>>

/** The search space: steps with some ambient inputs pinned, or inputs with all steps pinned. */
export interface Players {
  readonly count: number
  coalition(pinned: StepSet, mode: BlameMode): Coalition
}

/** Ambient inputs that alone made the run fail, or would have without its steps. */
export interface AmbientCause {
  /** Indexes in `ForkSource.ambient`. */
  readonly inputs: StepSet
  /** Maximum probability that a test behind this finding is wrong. */
  readonly errorRate: number
}

/** A set of steps that were freed, and the forks that did so. */
export interface RunRepair {
  readonly steps: StepSet
  readonly cell: LedgerCell
}

export class Search {
  readonly stepCount: number
  readonly everyStep: StepSet
  readonly labels: readonly string[]
  readonly levels: Levels
  readonly random: Random
  readonly notes: string[] = []
  /** Ambient inputs that alone made the run fail. */
  ambientCause: AmbientCause | undefined
  repair: RunRepair | undefined
  /** Proven facts; undefined if there are none (any more). */
  learned: Learned | undefined
  mode: BlameMode = 'free'
  readonly everyInput: StepSet
  /** Ambient inputs that every fork of steps pins. */
  ambient: StepSet = []
  /** Ambient inputs that belong to every cause among the steps. */
  needed: StepSet = []
  /**
   * `unchecked`: a cause among the steps may follow from ambient inputs that are not pinned.
   * `wrong`: one does. `known`: this is ruled out.
   */
  earliest: 'unchecked' | 'wrong' | 'known' = 'known'
  errorRate: number
  private phase: Phase = 'anchors'
  private forksBefore = 0
  private failing: Tally = { fails: 0, forks: 0 }
  private passing: Tally = { fails: 0, forks: 0 }
  private readonly decided = new Set<LedgerCell>()
  /** Forks through which the search found a coalition. */
  readonly chosenBy = new Map<LedgerCell, Tally>()

  constructor(
    readonly source: ForkSource,
    readonly options: SearchOptions,
    readonly ledger = new Ledger(source, options),
    private readonly players: Players = {
      count: source.stepCount,
      coalition: (pinned, mode) => ({ pinned, mode, ambient: this.ambient }),
    },
  ) {
    this.stepCount = players.count
    this.everyStep = upTo(players.count - 1)
    this.everyInput = upTo(source.ambient.length - 1)
    this.labels = this.everyStep.map((step) => options.labels?.[step] ?? String(step + 1))
    this.levels = new Levels(this.ledger.isDeterministic)
    this.random = seededRandom(options.seed)
    this.errorRate = options.errorRate
  }

  /** A search among other players that shares all forks. */
  among(players: Players): Search {
    const { prior: _prior, labels: _labels, ...options } = this.options
    const search = new Search(this.source, { ...options, echoes: false }, this.ledger, players)
    search.mode = this.mode
    return search
  }

  /** The unchanged run. */
  get replayCell(): LedgerCell {
    const pinned = upTo(this.source.stepCount - 1)
    return this.ledger.cell({ pinned, mode: 'free', ambient: this.everyInput })
  }

  /** All steps pinned, all ambient inputs live. */
  get ambientFreeCell(): LedgerCell {
    const pinned = upTo(this.source.stepCount - 1)
    return this.ledger.cell({ pinned, mode: 'free', ambient: [] })
  }

  /** Nothing pinned. */
  get freeCell(): LedgerCell {
    return this.ledger.cell({ pinned: [], mode: this.mode, ambient: [] })
  }

  cell(pinned: StepSet, mode: BlameMode = this.mode): LedgerCell {
    return this.ledger.cell(this.players.coalition(pinned, mode))
  }

  labelOf(step: number): string {
    return this.labels[step]!
  }

  /** Adds a note to the findings, unless it is already there. */
  note(text: string): void {
    if (!this.notes.includes(text)) this.notes.push(text)
  }

  /** Log likelihood ratio required by the error rate of this search. */
  get bar(): number {
    return barOf(this.errorRate)
  }

  /**
   * True if the run fails when only these steps are pinned. Forks until one answer is likely
   * enough. Returns `undefined` if no fork comes to a verdict.
   */
  async fails(pinned: StepSet, purpose: ProbePurpose): Promise<boolean | undefined> {
    const cell = this.cell(pinned)
    const ratio = await this.settle(cell, purpose, { fails: this.bar, passes: this.bar })
    if (cell.forks === 0) return undefined
    this.conclude(cell, ratio > 0)
    return ratio > 0
  }

  /** Forks until a bar is reached, and returns the ratio. Forks in `before` do not count. */
  async settle(
    cell: LedgerCell,
    purpose: ProbePurpose,
    bars: Bars,
    before: Tally = { fails: 0, forks: 0 },
  ): Promise<number> {
    const { ledger } = this
    const maxDraws = bars.maxDraws ?? MAX_DRAWS
    for (;;) {
      const counted = { fails: cell.fails - before.fails, forks: cell.forks - before.forks }
      const ratio = this.levels.logRatio(counted)
      if (ratio >= bars.fails || ratio <= -bars.passes) return ratio
      if (cell.forks >= maxDraws || ledger.isExhausted(cell)) return ratio
      if (await this.firmUpRates(cell)) continue
      const times = ledger.concurrency === 1 ? 1 : this.surelyNeeded(counted, bars)
      await ledger.draw(cell, purpose, Math.min(times, maxDraws - cell.forks))
    }
  }

  /**
   * A coalition may stay open because the rates are not known precisely enough. Then forks are
   * better spent on the anchor that has fewer of them.
   */
  private async firmUpRates(cell: LedgerCell): Promise<boolean> {
    if (cell.forks < OPEN_AFTER) return false
    const isHighThinner = this.failing.forks < this.passing.forks
    const thinner = isHighThinner ? this.failing : this.passing
    const anchor = this.cell(isHighThinner ? this.everyStep : [])
    if (thinner.forks >= cell.forks || anchor === cell || this.ledger.isExhausted(anchor)) {
      return false
    }
    await this.ledger.draw(anchor, 'anchor')
    this.refit()
    return true
  }

  /** Runs more forks of anchors that have few. Returns true if it ran any. */
  async firmUpAnchors(): Promise<boolean> {
    const thin = [this.cell(this.everyStep), this.cell([])].filter(
      (anchor) => anchor.forks < FIRM_FORKS && !this.ledger.isExhausted(anchor),
    )
    for (const anchor of thin) await this.ledger.draw(anchor, 'anchor', FIRM_FORKS - anchor.forks)
    this.refit()
    return thin.length > 0
  }

  /** Number of further forks needed even if all of them agree. */
  private surelyNeeded({ fails, forks }: Tally, bars: Bars): number {
    for (let more = 1; more < this.ledger.concurrency; more++) {
      const ifFail = this.levels.logRatio({ fails: fails + more, forks: forks + more })
      const ifPass = this.levels.logRatio({ fails, forks: forks + more })
      if (ifFail >= bars.fails || ifPass <= -bars.passes) return more
    }
    return this.ledger.concurrency
  }

  /** Starts a phase, for the estimate of remaining forks. */
  begin(phase: Phase): void {
    this.phase = phase
    this.forksBefore = this.ledger.counts.asked
  }

  remainingForks(): number {
    const { phase, stepCount, ledger } = this
    const each = ledger.isDeterministic ? 1 : this.forksPerQuery()
    const spent = ledger.counts.asked - this.forksBefore
    let remaining = Math.max(1, forksOfPhase(phase, stepCount, each) - spent)
    for (const later of PHASES.slice(PHASES.indexOf(phase) + 1)) {
      remaining += forksOfPhase(later, stepCount, each)
    }
    return remaining
  }

  /** Expected forks per query, from the distance between the two rates. */
  forksPerQuery(): number {
    const { meanHigh, meanLow } = this.levels
    const gain = (meanHigh - meanLow) * (logit(meanHigh) - logit(meanLow))
    return Math.min(MAX_DRAWS, Math.max(1, (2 * this.bar) / gain))
  }

  conclude(cell: LedgerCell, verdict: boolean): void {
    cell.verdict = verdict
    this.decided.add(cell)
    this.refit()
  }

  /** Withdraws a conclusion, so that its forks no longer influence the rates. */
  reopen(cell: LedgerCell): void {
    cell.verdict = undefined
    this.decided.delete(cell)
    this.refit()
  }

  /** Withdraws all conclusions, but keeps all forks. */
  reopenAll(): void {
    for (const cell of this.decided) cell.verdict = undefined
    this.chosenBy.clear()
    this.decided.clear()
    this.refit()
  }

  /** Fits the two rates to the anchors and all decided coalitions. */
  refit(): void {
    const pinned = this.cell(this.everyStep)
    const free = this.cell([])
    this.levels.isCertaintyExpected &&= !this.ledger.hasChance
    const failing = (this.failing = { fails: pinned.fails, forks: pinned.forks })
    const passing = (this.passing = { fails: free.fails, forks: free.forks })
    for (const cell of this.decided) {
      if (cell === pinned || cell === free) continue
      const group = cell.verdict ? failing : passing
      group.fails += cell.fails
      group.forks += cell.forks
    }
    this.levels.refit(failing, passing)
  }
}

/** Log likelihood ratio required for an error rate. */
export function barOf(errorRate: number): number {
  return Math.log((1 - errorRate) / errorRate)
}

function logit(rate: number): number {
  return Math.log(rate / (1 - rate))
}
