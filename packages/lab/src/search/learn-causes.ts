import { mapConcurrent, type ProbePurpose } from '@retake/tape'
import { areStillSeparate } from './anchors.js'
import { auditCauses } from './audit-causes.js'
import { findRaisedRisk, firstFail, type RaisedRisk } from './first-fail.js'
import { barOf, CONFIRMED, type Search } from './search.js'
import {
  includesAll,
  isPrefix,
  rangesText,
  type StepSet,
  union,
  upTo,
  without,
} from './step-set.js'
import { type LedgerCell, logOddsOfTwoRates, type SeenFork } from './ledger.js'
import type { Tally } from './levels.js'

/**
 * Exact Shapley share of each member: how much it adds to the value of a set, averaged over all
 * orders in which members could be added. The shares add up to the value of the whole set minus
 * that of the empty set. Evaluates every subset once, so it is meant for causes of a few steps.
 */
export function coreShapley(
  members: readonly number[],
  valueOf: (subset: readonly number[]) => number,
): number[] {
  const subsets: number[][] = [[]]
  for (const member of members) subsets.push(...subsets.map((subset) => [...subset, member]))
  const values = new Map(subsets.map((subset) => [subset.join(), valueOf(subset)]))
  return members.map((member) =>
    subsets
      .filter((subset) => !subset.includes(member))
      .reduce((share, subset) => {
        const more = members.filter((each) => each === member || subset.includes(each))
        const added = values.get(more.join())! - values.get(subset.join())!
        // Share of orders with exactly `size` members before another: size! (count-size-1)! /
        // count!
        const count = members.length
        const size = subset.length
        let orders = count
        for (let taken = 1; taken <= size; taken++) orders = (orders * (count - taken)) / taken
        return share + (1 / orders) * added
      }, 0),
  )
}

/** Factor by which tests that name a cause are stricter than other tests of the search. */
const STRICTER = 5
/** These tests may use more forks. */
const PROOF_DRAWS_MAX = 300

/**
 * Evidence (log likelihood ratio) that a cause fails too rarely to explain the run: proven,
 * accepted after the maximum number of forks, and worth checking.
 */
const WEAKER = Math.log(100)
const PROBABLY_WEAKER = Math.log(6)
const MAYBE_WEAKER = Math.log(3)
/** A cause that fails only 30 % of the time is unlikely to fail this many times in a row. */
const MIN_ALONE = 3
const MAX_ALONE = 60

interface Proof {
  readonly isProven: boolean
  /** Maximum probability that one of the tests is wrong. */
  readonly errorRate: number
}

/**
 * Tests the definition of a cause, more strictly than the search that found it: pinned alone it
 * fails, and without any single member it does not. The run must not fail before the last member of
 * the first cause, with neither live nor recorded ambient inputs.
 */
export async function proveCause(
  search: Search,
  core: StepSet,
  order: 'first' | 'other',
): Promise<Proof> {
  let errorRate = 0
  const claims = claimsOf(search, core, order).map((claim) => ({
    ...claim,
    before: claim.fails ? chosenBy(search, claim.cell, order) : undefined,
  }))
  await drawBeside(search, claims)
  for (const { cell, fails, purpose, before } of claims) {
    // Log likelihood ratio of the claim against its opposite.
    const strict = barOf(search.errorRate / STRICTER)
    const bars = { fails: strict, passes: strict, maxDraws: PROOF_DRAWS_MAX }

    // A coalition must not influence the rates it is measured against.
    search.reopen(cell)
    const ratio = await search.settle(cell, purpose, bars, before)
    if (cell.forks > 0) search.conclude(cell, ratio > 0)
    const odds = fails ? ratio : -ratio
    if (odds < barOf(search.errorRate)) {
      if (purpose === 'ambient') search.earliest = 'wrong'
      return { isProven: false, errorRate: 1 }
    }
    errorRate += 1 / (1 + Math.exp(odds))
  }
  if (await isWeaker(search, core)) return { isProven: false, errorRate: 1 }
  return { isProven: true, errorRate: Math.min(1, errorRate) }
}

/** Runs forks beside each other that every claim needs if all of them are right. */
async function drawBeside({ ledger }: Search, claims: readonly Claim[]): Promise<void> {
  if (ledger.concurrency === 1 || ledger.isDeterministic) return
  await Promise.all(
    claims.map(({ cell, fails, purpose }) =>
      ledger.draw(cell, purpose, (fails ? MIN_ALONE : 1) - cell.forks - cell.undefinedForks),
    ),
  )
}

interface Claim {
  readonly cell: LedgerCell
  readonly fails: boolean
  readonly purpose: ProbePurpose
}

function claimsOf(search: Search, core: StepSet, order: 'first' | 'other'): Claim[] {
  const { mode, everyInput: ambient, ledger } = search
  const claims: Claim[] = [{ cell: search.cell(core), fails: true, purpose: 'cause' }]
  for (const step of core) {
    claims.push({ cell: search.cell(without(core, [step])), fails: false, purpose: 'minimal' })
  }
  if (order === 'other') return claims
  const before = upTo(core.at(-1)! - 1)
  claims.push({ cell: search.cell(before), fails: false, purpose: 'repair' })
  if (search.earliest === 'unchecked') {
    const recorded = ledger.cell({ pinned: before, mode, ambient })
    claims.push({ cell: recorded, fails: false, purpose: 'ambient' })
  }
  return claims
}

/** True if later evidence still supports every claim about the causes. Runs no forks. */
function isStillLikely(search: Search, learned: Learned): boolean {
  return learned.causes.every((core, index) =>
    claimsOf(search, core, index === 0 ? 'first' : 'other').every(
      ({ cell, fails }) => search.levels.logRatio(cell) > 0 === fails,
    ),
  )
}

/**
 * Drops causes of a stopped search unless every claim about them is still proven. If the run often
 * fails anyway, they must have been audited too.
 */
export function dropUnproven(search: Search): void {
  const { learned } = search
  if (!learned || learned.isOneByOne) return
  search.refit()
  if (!learned.isAudited && search.levels.meanLow >= OFTEN_FAILS.first) {
    search.learned = undefined
    return
  }
  const isProven = learned.causes.map((core, index) => {
    const claims = claimsOf(search, core, index === 0 ? 'first' : 'other')
    return claims.every(({ cell, fails }) => {
      const before = search.chosenBy.get(cell) ?? { fails: 0, forks: 0 }
      const since = { fails: cell.fails - before.fails, forks: cell.forks - before.forks }
      const ratio = search.levels.logRatio(since)
      return (fails ? ratio : -ratio) >= barOf(search.options.errorRate)
    })
  })
  if (isProven[0])
    learned.causes.splice(0, Infinity, ...learned.causes.filter((_, at) => isProven[at]))
  else search.learned = undefined
}

/**
 * True if the cause clearly fails less often than the whole run: then it only raises the risk, and
 * something else makes the run fail.
 */
async function isWeaker(search: Search, core: StepSet): Promise<boolean> {
  const whole = search.cell(search.everyStep)
  const alone = search.cell(core)
  const { ledger } = search
  if (!ledger.isDeterministic) await ledger.draw(alone, 'cause', MIN_ALONE - alone.forks)
  for (;;) {
    const odds = logOddsOfTwoRates(search.levels, whole, alone)
    if (odds >= WEAKER) return true
    if (odds <= MAYBE_WEAKER) return false
    const fewer = whole.forks < alone.forks ? whole : alone
    if (fewer.forks >= MAX_ALONE || ledger.isExhausted(fewer)) return odds > PROBABLY_WEAKER
    await ledger.draw(fewer, fewer === whole ? 'anchor' : 'cause')
    search.refit()
  }
}

/**
 * If the run fails more often than this without a cause, the forks that selected a set of steps do
 * not count as its proof.
 */
const OFTEN_FAILS = { first: 0.2, other: 0.04 }

/**
 * The forks by which the search selected a set. If a run often fails anyway, one of many sets fails
 * in all of its first forks by chance, so only later forks count as proof.
 */
function chosenBy(search: Search, cell: LedgerCell, order: 'first' | 'other'): Tally | undefined {
  if (search.levels.meanLow < OFTEN_FAILS[order]) return undefined
  const known = search.chosenBy.get(cell) ?? { fails: cell.fails, forks: cell.forks }
  search.chosenBy.set(cell, known)
  return known
}

export class Learned {
  /** Proven causes. The first one made the run fail. */
  readonly causes: StepSet[] = []
  /** Steps that have their recorded value because of a cause. */
  changed: StepSet = []
  /** Steps that fail without the causes, and may or may not follow from one of them. */
  undecided: StepSet = []
  /** True if causes that follow from ambient inputs were set aside. */
  isSetAside = false
  /** Number of step sets compared by transplant. */
  transplanted = 0
  /** True if the run does not fail without causes and changed steps. */
  clearsOthers = false
  /** A step that made the failure likely before the first cause was complete. */
  raisedRisk: RaisedRisk | undefined
  /** True if found by leaving out one step at a time, because causes cancel each other. */
  isOneByOne = false
  /** True if predictions for other coalitions were tested and hold. */
  isAudited = false
  /** Shares of the first cause, if its members may differ. */
  shares: readonly number[] | undefined

  constructor(
    first: StepSet,
    /** Maximum probability that the tests that named the first cause are wrong. */
    public errorRate: number,
  ) {
    this.causes.push(first)
  }

  named(): StepSet {
    return this.causes.reduce<StepSet>(union, [])
  }

  /** Steps whose pinning proves nothing. */
  followers(): StepSet {
    return union(this.changed, this.undecided)
  }

  predicts(pinned: StepSet): boolean {
    return this.causes.some((cause) => includesAll(pinned, cause))
  }
}

/** Log likelihood ratios required to say that a step follows from a cause, or does not. */
const FOLLOWS = Math.log(60)
const FOLLOWS_NOT = Math.log(10)
/** Maximum number of forks compared on each side before the question is left open. */
const MAX_COMPARED = 40
const MIN_COMPARED = 4
/** A step that repeats a cause half of the time would show up in this many forks. */
const MIN_NEVER = 7
/** Maximum number of step sets compared by transplant; a long cascade would take forever. */
const MAX_TRANSPLANTED = 6

/**
 * Steps that have their recorded values if a cause is pinned and other values if it is repaired, in
 * forks that ran anyway. Equal values have equal effects, so no transplant is needed. Different
 * values prove nothing, because models reword.
 */
function findRepeated(search: Search, cause: StepSet): StepSet {
  if (search.mode === 'frozen') return []
  const caused = search.cell(cause)
  const repaired = [search.cell([]), search.cell(upTo(cause[0]! - 1))]
  const later = search.everyStep.filter((step) => step > cause[0]! && !cause.includes(step))
  return later.filter((step) => {
    const isRecorded = ({ values }: SeenFork) => values[step] === search.source.recorded[step]
    const tally = (cells: readonly LedgerCell[]): Tally => {
      const seen = [...new Set(cells)].flatMap((cell) => cell.seen)
      return { fails: seen.filter(isRecorded).length, forks: seen.length }
    }
    return comparedRates(search, tally([caused]), tally(repaired)) === 'more'
  })
}

/**
 * Compares how often the fault appears with the cause pinned and with it repaired. In a
 * deterministic run, unanimous forks decide.
 */
function comparedRates(search: Search, caused: Tally, repaired: Tally): 'more' | 'same' | 'open' {
  const { ledger, levels } = search
  const forks = Math.min(caused.forks, repaired.forks)
  if (ledger.isDeterministic || levels.isCertaintyExpected) {
    if (forks < (ledger.isDeterministic ? 1 : 2)) return 'open'
    if (caused.fails === caused.forks && repaired.fails === 0) return 'more'
    const isNever = caused.fails === 0 && repaired.fails === 0
    if (isNever && (ledger.isDeterministic || caused.forks >= MIN_NEVER)) return 'same'
  }
  const odds = logOddsOfTwoRates(levels, caused, repaired)
  if (odds >= FOLLOWS) return 'more'
  return forks >= MIN_COMPARED && odds <= -FOLLOWS_NOT ? 'same' : 'open'
}

/**
 * Decides by effect whether a member of a failing set is faulty because of a cause. With the cause
 * repaired and the other members pinned, the member gets its answer from forks with the cause
 * pinned. If that fails more often than with the answer it produces itself, the member follows from
 * the cause. Returns `undefined` if this cannot be decided.
 */
export async function followsFrom(
  search: Search,
  caused: LedgerCell,
  core: StepSet,
  member: number,
): Promise<boolean | undefined> {
  const { ledger, source } = search
  const repaired = search.cell(without(core, [member]))
  const valueIn = ({ values }: SeenFork) => values[member]
  const given = { fails: 0, forks: 0 }
  for (let at = 0; ; at++) {
    const own = { fails: repaired.seen.filter(shownByItself).length, forks: repaired.forks }
    const compared = comparedRates(search, given, own)
    if (compared !== 'open') return compared === 'more'
    if (at >= MAX_COMPARED) return undefined
    const wanted = [at + 1, Math.max(MIN_COMPARED, at < 10 ? (at + 1) / 2 : at - 4)]
    for (const [index, cell] of [caused, repaired].entries()) {
      if (cell.forks < wanted[index]! && !ledger.isExhausted(cell)) await ledger.draw(cell, 'echo')
    }
    const fork = caused.seen[at]
    if (fork === undefined) return undefined
    const isFail = await failsGiven(fork)
    if (isFail === undefined) return undefined
    given.forks++
    if (isFail) given.fails++
  }

  /** Values on both sides make no difference, except the recorded value, which fails. */
  function shownByItself(fork: SeenFork): boolean {
    const value = valueIn(fork)
    if (value === source.recorded[member]) return true
    return fork.isFail && !caused.seen.some((other) => valueIn(other) === value)
  }

  /** True if a fork fails in which the member has this answer; `undefined` without a verdict. */
  async function failsGiven(fork: SeenFork): Promise<boolean | undefined> {
    const value = valueIn(fork)
    if (value === source.recorded[member]) return true
    if (value === undefined || repaired.seen.some((other) => valueIn(other) === value)) return false
    const from = { step: member, from: caused.coalition, draw: fork.draw }
    const cell = ledger.cell({ ...repaired.coalition, given: [from] })
    await ledger.draw(cell, 'transplant')
    return cell.seen[0]?.isFail
  }
}

const MAX_MEMBERS = 8
/** Number of times a bisection is repeated if its own prefix contradicts it. */
const MAX_RETRIES = 3

/**
 * The smallest failing set of these steps; if there are several, the one that is complete first.
 * Returns `undefined` if none was found. Proves nothing: see `proveCause`.
 */
export async function findCore(search: Search, pool: StepSet): Promise<StepSet | undefined> {
  const core = await growCore(search, pool)
  if (!core) return undefined
  // Drops every member without which the others still fail.
  let needed = core
  for (const step of core) {
    if (needed.length === 1) break
    const others = without(needed, [step])
    if (await search.fails(others, 'minimal')) needed = others
  }
  return needed
}

/** Adds, from the last step to the first, each step without which the others do not fail. */
async function growCore(search: Search, pool: StepSet): Promise<StepSet | undefined> {
  let core: StepSet = []
  let candidates = pool
  let retries = 0
  while (core.length < MAX_MEMBERS && candidates.length > 0) {
    const purpose: ProbePurpose = core.length === 0 && isPrefix(pool) ? 'prefix' : 'cause'
    const query = { candidates, fixed: core, purpose, errorRate: search.errorRate }
    const { at, probability } = await firstFail(search, query)
    // A large set that keeps growing is probably due to chance.
    const isDoubtful = probability < 1 - search.errorRate || core.length >= 2
    if (isDoubtful && !(await areStillSeparate(search))) return undefined
    const grown = union(core, [candidates[at]!])
    if (await search.fails(grown, 'cause')) return grown
    const prefix = union(candidates.slice(0, at + 1), core)
    if ((await search.fails(prefix, purpose)) !== true) {
      if (++retries > MAX_RETRIES) return undefined
      continue
    }
    core = grown
    candidates = candidates.slice(0, at)
  }
  return undefined
}

/** Additional forks with every step free, and how many more follow if those fail. */
const EXTRA_FORKS = 2
const MORE_FORKS = 6

/**
 * True if the run still passes with every step free, judged only by new forks. If the environment
 * has changed since the search began, for example because a service went down, everything fails,
 * and every step would look like another cause.
 */
async function stillPasses(search: Search): Promise<boolean> {
  const { ledger, levels } = search
  if (ledger.isDeterministic) return true
  const free = search.cell([])
  const { fails, forks } = free
  for (const times of [EXTRA_FORKS, MORE_FORKS]) {
    await ledger.draw(free, 'anchor', times)
    const now = levels.logRatio({ fails: free.fails - fails, forks: free.forks - forks })
    if (now <= 0) return true
    if (now >= search.bar && times === MORE_FORKS) {
      search.note('With every step free it passed at first, and fails now: something has changed.')
      return false
    }
  }
  return true
}

/** Low, because every one of many tests must be right. */
const ERROR_RATE = 1e-4
const MAX_DRAWS = 200

/**
 * Steps that the failure needs: leaving out any one of them makes the whole run pass. Works even if
 * causes cancel each other, where bisection fails, but needs a test for every step. Returns
 * `undefined` if one of the tests stays open.
 */
async function leaveOneOut(search: Search, changed: StepSet): Promise<StepSet | undefined> {
  const { everyStep, ledger } = search
  search.errorRate = Math.min(search.errorRate, ERROR_RATE)
  const bars = { fails: search.bar, passes: search.bar, maxDraws: MAX_DRAWS }
  const isOpen = (ratio: number) => Math.abs(ratio) < search.bar
  const tried = without(everyStep, changed)
  const cellOf = (step: number) => search.cell(without(everyStep, [step]))
  const ratios = await mapConcurrent(
    tried,
    ledger.concurrency,
    async (step) => {
      const ratio = await search.settle(cellOf(step), 'one out', bars)
      if (!isOpen(ratio)) search.conclude(cellOf(step), ratio > 0)
      return ratio
    },
    isOpen,
  )
  return ratios.some(isOpen) ? undefined : tried.filter((_, index) => ratios[index]! < 0)
}

const MAX_ATTEMPTS = 3
/** Factor by which every test becomes stricter when learning starts again. */
const STRICTER_AGAIN = 20
/** Approximate limit of forks when leaving out one step at a time. */
const MAX_ONE_BY_ONE = 3000
/** Shares are computed only for causes of at most this many steps. */
const MAX_SHARED = 4

/**
 * Finds the causes of a run whose anchors differ, and audits them. If one more cause explains a
 * contradiction, adds that cause. Otherwise learns everything again with stricter tests, and
 * finally step by step. Stores proven causes in `search.learned`.
 */
export async function learnCauses(search: Search): Promise<void> {
  let changed: StepSet = []
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (attempt > 0) {
      search.note('An audit or a proof contradicted the result, so the search was repeated.')
    }
    const wasCertain = search.levels.isCertaintyExpected
    const outcome = await learnOnce(search)
    if (outcome === 'holds' || search.earliest === 'wrong') return
    changed = search.learned?.changed ?? []
    search.learned = undefined
    if (wasCertain) {
      // Single forks decided this, so the run is not deterministic, or causes cancel each other.
      search.levels.isCertaintyExpected = false
      search.reopenAll()
      attempt--
      continue
    }
    search.errorRate /= STRICTER_AGAIN
    // With rates this clear, a contradiction is not due to chance, so do not learn again, unless a
    // coalition had a third rate: then a bisection may have followed a lucky fork.
    const isClear = search.levels.meanHigh >= 0.96 && search.levels.meanLow <= 0.04
    const isFinal = isClear && !search.ledger.hasChance
    search.reopenAll()
    if (isFinal) break
    if (!(await areStillSeparate(search))) return
  }
  await learnOneByOne(search, changed)
}

async function learnOnce(search: Search): Promise<'holds' | 'contradicted'> {
  const core = await findCore(search, search.everyStep)
  if (!core) return 'contradicted'
  const proof = await proveCause(search, core, 'first')
  if (!proof.isProven) return 'contradicted'
  const learned = new Learned(core, proof.errorRate)
  search.learned = learned
  if (search.options.echoes) learned.changed = findRepeated(search, core)
  search.begin('back-ups')
  await findBackUps(search, learned)
  if (!isStillLikely(search, learned)) return 'contradicted'
  search.begin('audit')
  for (;;) {
    const contradiction = await auditCauses(search, learned)
    if (!contradiction) break
    if (!contradiction.fails) return 'contradicted'
    if (learned.causes.length >= search.options.maxCauses) {
      learned.clearsOthers = false
      break
    }
    if (!(await addCauseIn(search, learned, contradiction.pinned))) return 'contradicted'
  }
  learned.raisedRisk = await findRaisedRisk(search, core)
  if (learned.causes.length > 1 && !(await stillPasses(search))) return 'contradicted'
  // The proofs must hold with all later evidence: more forks of the same coalitions, and more
  // precise rates. Usually needs no forks.
  for (const [order, cause] of learned.causes.entries()) {
    const again = await proveCause(search, cause, order === 0 ? 'first' : 'other')
    if (!again.isProven) return 'contradicted'
    if (order === 0) learned.errorRate = again.errorRate
  }
  learned.isAudited = true
  return 'holds'
}

/** For causes that cancel each other: finds the steps that the failure needs. */
async function learnOneByOne(search: Search, changed: StepSet): Promise<void> {
  if (search.stepCount * search.forksPerQuery() > MAX_ONE_BY_ONE) {
    search.note('Leaving out one step at a time would have taken too many forks.')
    return
  }
  const needed = await leaveOneOut(search, changed)
  if (!needed || needed.length === 0) return
  if (!(await search.fails(needed, 'cause'))) {
    search.note(
      `Without any one of the steps ${needed.map((step) => search.labelOf(step)).join(', ')} the run passes, but together they do not make it fail.`,
    )
    return
  }
  search.note(
    'Pinning more steps does not always fail more often: found by leaving out one step at a time.',
  )
  search.learned = new Learned(needed, needed.length * search.errorRate)
  search.learned.isOneByOne = true
  search.learned.isAudited = true
  search.learned.shares = await sharesOf(search, needed)
  search.learned.changed = changed
}

/**
 * Shares of a cause whose parts may cancel each other: tests every part of it. Returns `undefined`
 * if the cause is too large or a part stays open.
 */
async function sharesOf(search: Search, cause: StepSet): Promise<number[] | undefined> {
  if (cause.length > MAX_SHARED) return undefined
  const failing = new Set<string>()
  for (let part = 1; part < 2 ** cause.length; part++) {
    const pinned = cause.filter((_, index) => (part >> index) & 1)
    const fails = await search.fails(pinned, 'cause')
    if (fails === undefined) return undefined
    if (fails) failing.add(rangesText(pinned))
  }
  return coreShapley(cause, (pinned) => (failing.has(rangesText(pinned)) ? 1 : 0))
}

/**
 * Tests whether the run still fails without all steps that are known to matter. If so, searches
 * another cause among the others; if not, this one test clears all of them.
 */
async function findBackUps(search: Search, learned: Learned): Promise<void> {
  for (;;) {
    const rest = without(search.everyStep, union(learned.named(), learned.followers()))
    const stillFails = rest.length === 0 ? false : await search.fails(rest, 'back-up')
    learned.clearsOthers = stillFails === false
    if (stillFails !== true || learned.causes.length >= search.options.maxCauses) return
    if (!(await addCauseIn(search, learned, rest))) return
    if (!isStillLikely(search, learned)) return
  }
}

/**
 * Searches one more cause among steps that fail together, and adds it if it can be proven. It must
 * not contradict a known cause: it must not be part of one, and the steps that two causes share
 * must not fail alone, because then the shared steps are the cause.
 */
async function addCauseIn(search: Search, learned: Learned, steps: StepSet): Promise<boolean> {
  const core = await findCore(search, steps)
  if (!core) return false
  for (const cause of learned.causes) {
    const shared = core.filter((step) => cause.includes(step))
    if (shared.length === core.length || shared.length === cause.length) return false
    if (shared.length === 0) continue
    const cell = search.cell(shared)
    search.reopen(cell)
    // Only new forks count: by its earlier forks, the search took the shared steps for harmless.
    const { fails, forks } = cell
    const before = search.ledger.hasChance ? { fails, forks } : undefined
    const ratio = await search.settle(cell, 'confirm', CONFIRMED, before)
    if (cell.forks > 0) search.conclude(cell, ratio > 0)
    if (ratio >= 0) return false
  }
  if (await setAside(search, learned, core)) return true
  if (!(await proveCause(search, core, 'other')).isProven) return false
  learned.causes.push(core)
  return true
}

/** Sets aside members of a failing set that follow, or may follow, from a known cause. */
async function setAside(search: Search, learned: Learned, core: StepSet): Promise<boolean> {
  if (!search.options.echoes) return false
  const before = learned.followers().length
  const isTransplantable = learned.transplanted++ < MAX_TRANSPLANTED
  for (const member of core) {
    const causes = learned.causes.filter((cause) => cause[0]! < member && !cause.includes(member))
    for (const cause of causes) {
      const follows = isTransplantable
        ? await followsFrom(search, search.cell(cause, 'free'), core, member)
        : undefined
      if (follows === false) continue
      if (follows) learned.changed = union(learned.changed, [member])
      else learned.undecided = union(learned.undecided, [member])
      break
    }
  }
  return learned.followers().length > before
}
