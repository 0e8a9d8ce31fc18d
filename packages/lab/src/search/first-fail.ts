import type { ProbePurpose, RiskPoint } from '@retake/tape'
import { Levels, type Tally } from './levels.js'
import type { Search } from './search.js'
import { type StepSet, union, upTo } from './step-set.js'
import { type LedgerCell, logOddsOfTwoRates, rateOf } from './ledger.js'

/** Evidence that the risk rose before the cause, and evidence against it that ends the check. */
const RAISED = Math.log(30)
const NOT_RAISED = -Math.log(2)
const MAX_EXTRA = 60
/** Rates closer than this leave no room for a third rate between them. */
const MIN_RISE = 0.5
/** A risk of one in three would hardly be missed in this many forks. */
const MIN_LOOK_FORKS = 8
const MAX_BISECTION = 80
/** Below this probability, the report says that the risk rose, but not where. */
const LOCATED = 0.8

/** Where the risk rose before the failure became certain. */
export interface RaisedRisk {
  /** Missing if there are too few forks to locate it. */
  readonly step?: number
  readonly before: Tally
  readonly after: Tally
}

export function riskCurve({ ledger, labels, ambient }: Search): RiskPoint[] {
  return ledger
    .prefixes(ambient)
    .filter(({ forks }) => forks > 0)
    .map((cell) => {
      const upTo = labels[cell.coalition.pinned.length - 1]
      return { ...(upTo === undefined ? {} : { upTo }), rate: rateOf(cell) }
    })
}

/**
 * Finds a step that made the failure likely before another made it certain. It is not a cause,
 * because the run mostly passes with it, but users want to know it. Runs forks only if existing
 * ones suggest such a step.
 */
export async function findRaisedRisk(
  search: Search,
  cause: StepSet,
): Promise<RaisedRisk | undefined> {
  const last = cause.at(-1)!
  if (search.mode === 'frozen' || last < 1) return undefined
  if (search.levels.meanHigh - search.levels.meanLow < MIN_RISE) return undefined
  const before = search.cell([])
  const after = search.cell(upTo(last - 1))
  if (!(await isRaised(search, before, after))) return undefined
  const levels = new Levels(search.ledger.isDeterministic)
  levels.refit(after, before)
  const { at, probability } = await firstFail(search, {
    candidates: upTo(last - 1),
    fixed: [],
    purpose: 'risk',
    errorRate: 0.1,
    levels,
    maxDraws: MAX_BISECTION,
  })
  return {
    ...(probability >= LOCATED ? { step: at } : {}),
    before: { ...before },
    after: { ...after },
  }
}

async function isRaised(search: Search, before: LedgerCell, after: LedgerCell): Promise<boolean> {
  const { ledger } = search
  if (ledger.isDeterministic) return false
  if (search.levels.isCertaintyExpected) {
    await ledger.draw(after, 'risk', MIN_LOOK_FORKS / 2 - after.forks)
    if (!ledger.hasChance) return false
  }
  await ledger.draw(after, 'risk', MIN_LOOK_FORKS - after.forks)
  for (let extra = 0; extra < MAX_EXTRA; extra++) {
    const odds = logOddsOfTwoRates(search.levels, after, before)
    if (odds >= RAISED) return true
    if (odds < NOT_RAISED || ledger.hasNoVerdict(before) || ledger.hasNoVerdict(after)) return false
    await ledger.draw(after.forks > before.forks ? before : after, 'risk')
  }
  return false
}

const MAX_DRAWS = 400
const DOUBTFUL_AFTER = 40
/** From this probability on, the next fork starts before the result of the one before is known. */
const ALMOST_CERTAIN = 0.9
/** Minimum prior, so that forks can overrule it. */
const PRIOR_FLOOR = 0.001

export interface FirstFailQuery {
  /** In ascending order; assumed to fail together. */
  readonly candidates: StepSet
  readonly fixed: StepSet
  readonly purpose: ProbePurpose
  readonly errorRate: number
  /** The two rates to distinguish; by default those of the search. */
  readonly levels?: Levels
  readonly maxDraws?: number
}

/**
 * Finds the first candidate such that pinning all candidates up to it makes the run fail. A
 * bisection for noisy answers: each fork is placed where it halves the probability, and its outcome
 * is weighed. Earlier forks of these coalitions count too.
 */
export async function firstFail(search: Search, query: FirstFailQuery) {
  const { candidates, fixed, purpose, errorRate, maxDraws = MAX_DRAWS } = query
  const cells = candidates.map((_, at) => search.cell(union(candidates.slice(0, at + 1), fixed)))
  const believe = (): Belief => {
    const belief = new Belief(candidates, query.levels ?? search.levels, search.options.prior)
    for (let at = 0; at < candidates.length - 1; at++) {
      const { fails, forks } = cells[at]!
      if (forks > 0) belief.update(at, fails, forks - fails)
    }
    return belief
  }
  const isOpen = (cut: number): boolean => !search.ledger.isExhausted(cells[cut]!)
  let belief = believe()
  for (let drawn = 0; drawn < maxDraws && belief.best() < 1 - errorRate; drawn++) {
    // A query that stays open this long suggests that the rates are based on too few forks.
    if (drawn === DOUBTFUL_AFTER && (await search.firmUpAnchors())) belief = believe()
    const at = belief.halfway(isOpen)
    if (at === undefined) break
    const cuts = [at, ...nextCut(at)]
    const before = new Map(cuts.map((cut) => [cut, { ...cells[cut]! }]))
    await Promise.all(cuts.map((cut) => search.ledger.draw(cells[cut]!, purpose)))
    for (const [cut, { fails, forks }] of before) {
      const now = cells[cut]!
      const more = now.fails - fails
      belief.update(cut, more, now.forks - forks - more)
    }
  }
  return { at: belief.bestAt, probability: belief.best() }

  /** The cut that comes next if a cut almost certainly shows what is expected. */
  function nextCut(at: number): readonly number[] {
    if (search.ledger.concurrency === 1 || belief.best() < ALMOST_CERTAIN) return []
    const then = believe()
    const fails = at < belief.bestAt ? 0 : 1
    then.update(at, fails, 1 - fails)
    return then.best() < 1 - errorRate ? [then.halfway(isOpen) ?? []].flat() : []
  }
}

/** Joint probabilities of "this candidate is the first" and each pair of rates. */
class Belief {
  bestAt = 0
  private readonly high: Float64Array
  private readonly low: Float64Array
  private readonly joint: Float64Array
  private readonly each: Float64Array

  constructor(
    private readonly candidates: StepSet,
    levels: Levels,
    prior: readonly number[] | undefined,
  ) {
    this.high = levels.high
    this.low = levels.low
    const pairs = this.high.length
    this.joint = new Float64Array(candidates.length * pairs)
    this.each = new Float64Array(candidates.length)
    for (let at = 0; at < candidates.length; at++) {
      const weight = Math.max(PRIOR_FLOOR, prior ? (prior[candidates[at]!] ?? 0) : 1)
      for (let pair = 0; pair < pairs; pair++) {
        this.joint[at * pairs + pair] = weight * levels.weights[pair]!
      }
    }
    this.update(-1, 0, 0)
  }

  best(): number {
    return this.each[this.bestAt]!
  }

  /** Where to cut so that both sides are about equally likely. */
  halfway(mayCut: (at: number) => boolean): number | undefined {
    let before = 0
    let nearest = Infinity
    let found: number | undefined
    for (let at = 0; at < this.candidates.length - 1; at++) {
      before += this.each[at]!
      const distance = Math.abs(before - 0.5)
      if (distance < nearest && mayCut(at)) {
        nearest = distance
        found = at
      }
    }
    return found
  }

  /** Updates the probabilities with outcomes of forks that pinned the candidates up to `cut`. */
  update(cut: number, fails: number, passes: number): void {
    const { joint } = this
    const pairs = this.high.length
    const [ifHigh, ifLow] = this.likelihoods(fails, passes)
    let index = 0
    let total = 0
    for (let at = 0; at < this.each.length; at++) {
      const factors = at <= cut ? ifHigh : ifLow
      let sum = 0
      for (let pair = 0; pair < pairs; pair++, index++) {
        const next = joint[index]! * factors[pair]!
        joint[index] = next
        sum += next
      }
      this.each[at] = sum
      total += sum
    }
    this.normalise(total)
  }

  /** Likelihood of each pair of rates, relative to the largest to prevent underflow. */
  private likelihoods(fails: number, passes: number): [Float64Array, Float64Array] {
    const log = (rate: number) => fails * Math.log(rate) + passes * Math.log1p(-rate)
    const high = this.high.map(log)
    const low = this.low.map(log)
    let largest = -Infinity
    for (let pair = 0; pair < high.length; pair++) {
      largest = Math.max(largest, high[pair]!, low[pair]!)
    }
    for (let pair = 0; pair < high.length; pair++) {
      high[pair] = Math.exp(high[pair]! - largest)
      low[pair] = Math.exp(low[pair]! - largest)
    }
    return [high, low]
  }

  /** Rescales only when the joint probabilities are about to underflow. */
  private normalise(total: number): void {
    if (total < 1e-150) {
      for (let index = 0; index < this.joint.length; index++) this.joint[index]! /= total
    }
    this.bestAt = 0
    for (let at = 0; at < this.each.length; at++) {
      this.each[at]! /= total
      if (this.each[at]! > this.each[this.bestAt]!) this.bestAt = at
    }
  }
}
