import { areStillSeparate } from './anchors.js'
import { auditCauses } from './audit-causes.js'
import { coreShapley } from './classic/core-shapley.js'
import { findCore } from './find-core.js'
import { findChanged, isSometimesEcho } from './find-echoes.js'
import { Learned } from './learned.js'
import { proveCause } from './prove-cause.js'
import { findRaisedRisk } from './risk-curve.js'
import { CONFIRMED, type Search } from './search.js'
import { rangesText, type StepSet, union, without } from './step-set.js'
import { atOnce } from './at-once.js'

/** As many more forks with every step free are looked at, and where they fail as many again. */
const A_FEW = 2
const SOME = 6

/**
 * Whether the run still passes with every step free, by forks of now alone. Where the world
 * has changed since the search began, as a service went down, whatever is tried fails, and
 * every step would look like one more cause.
 */
async function stillPasses(search: Search): Promise<boolean> {
  const { ledger, levels } = search
  if (ledger.isDeterministic) return true
  const free = search.cell([])
  const { fails, forks } = free
  for (const times of [A_FEW, SOME]) {
    await ledger.draw(free, 'anchor', times)
    const now = levels.logRatio({ fails: free.fails - fails, forks: free.forks - forks })
    if (now <= 0) return true
    if (now >= search.bar && times === SOME) {
      search.note('With every step free it passed at first, and fails now: something has changed.')
      return false
    }
  }
  return true
}

/** So many tests must not err even once. */
const ERROR_RATE = 1e-4
const MAX_DRAWS = 200

/**
 * The steps without any one of which the whole run passes. This holds also where causes
 * undo each other, so that no search by halves can work; it takes a test for every step.
 * `undefined` where one of these tests stays open.
 */
async function leaveOneOut(search: Search, changed: StepSet): Promise<StepSet | undefined> {
  const { everyStep, ledger } = search
  search.errorRate = Math.min(search.errorRate, ERROR_RATE)
  const bars = { fails: search.bar, passes: search.bar, maxDraws: MAX_DRAWS }
  const isOpen = (ratio: number) => Math.abs(ratio) < search.bar
  const tried = without(everyStep, changed)
  const cellOf = (step: number) => search.cell(without(everyStep, [step]))
  const ratios = await atOnce(
    tried,
    ledger.concurrency,
    async (step) => {
      const ratio = await search.settle(cellOf(step), 'one out', bars)
      if (!isOpen(ratio)) search.conclude(cellOf(step), ratio > 0)
      return ratio
    },
    isOpen,
  )
  return ratios.some(isOpen) ? undefined : tried.filter((_, place) => ratios[place]! < 0)
}

const MAX_ATTEMPTS = 3
/** How much surer every test must be when it is all learned again. */
const SURER = 20
/** About so many forks may be spent on leaving out one step at a time. */
const MAX_ONE_BY_ONE = 3000
/** Of a cause of more steps, not every part is asked. */
const MAX_SHARED = 4

/**
 * Learns the causes of a run whose anchors differ, and audits what it learned. What can be
 * mended by one more cause is; otherwise it is all learned again, with surer tests; and at
 * last step by step. Leaves what is proven in `search.learned`, nothing if nothing is.
 */
export async function learnCauses(search: Search): Promise<void> {
  let changed: StepSet = []
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (attempt > 0) {
      search.note('An audit or a proof spoke against what was learned; it was learned again.')
    }
    const outcome = await learnOnce(search)
    if (outcome === 'stands') return
    changed = search.learned?.changed ?? []
    search.learned = undefined
    search.errorRate /= SURER
    const isFinal = isNearlyCertain(search)
    search.reopenAll()
    if (isFinal) break
    if (!(await areStillSeparate(search))) return
  }
  await learnOneByOne(search, changed)
}

async function learnOnce(search: Search): Promise<'stands' | 'contradicted'> {
  const core = await findCore(search, search.everyStep)
  if (!core) return 'contradicted'
  const proof = await proveCause(search, core, 'first')
  if (!proof.isProven) return 'contradicted'
  const learned = new Learned(core, proof.errorRate)
  search.learned = learned
  learned.changed = findChanged(search, core)
  search.begin('back-ups')
  await findBackUps(search, learned)
  search.begin('audit')
  for (;;) {
    const contradiction = await auditCauses(search, learned)
    if (!contradiction) break
    if (!contradiction.fails) return 'contradicted'
    if (learned.causes.length >= search.options.maxCauses) {
      learned.clearsOthers = false
      break
    }
    if (!(await addCauseIn(search, learned, contradiction.kept))) return 'contradicted'
  }
  learned.raisedRisk = await findRaisedRisk(search, core)
  if (learned.causes.length > 1 && !(await stillPasses(search))) return 'contradicted'
  if (!(await stillProven(search, learned))) return 'contradicted'
  learned.isAudited = true
  return 'stands'
}

/**
 * Whether the proofs hold by all that was seen since: more forks of the same coalitions,
 * and rates that are known better. Mostly this takes no fork.
 */
async function stillProven(search: Search, learned: Learned): Promise<boolean> {
  for (const [order, cause] of learned.causes.entries()) {
    const proof = await proveCause(search, cause, order === 0 ? 'first' : 'other')
    if (!proof.isProven) return false
    if (order === 0) learned.errorRate = proof.errorRate
  }
  return true
}

/** With rates like these a contradiction is no accident: to learn again would not help. */
function isNearlyCertain({ levels }: Search): boolean {
  return levels.meanHigh >= 0.96 && levels.meanLow <= 0.04
}

/** Where causes undo each other: the steps that the whole run needs to fail. */
async function learnOneByOne(search: Search, changed: StepSet): Promise<void> {
  if (search.stepCount * search.forksPerQuestion() > MAX_ONE_BY_ONE) {
    search.note('To leave out one step at a time would have taken too many forks.')
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
    'Keeping more steps does not always fail more often: found by leaving out one step at a time.',
  )
  search.learned = new Learned(needed, needed.length * search.errorRate)
  search.learned.isOneByOne = true
  search.learned.isAudited = true
  search.learned.shares = await sharesOf(search, needed)
  search.learned.changed = changed
}

/**
 * Causes that undo each other need not have the same share: asks about every part of a
 * small one. `undefined` where it is too large, or a part stays open.
 */
async function sharesOf(search: Search, cause: StepSet): Promise<number[] | undefined> {
  if (cause.length > MAX_SHARED) return undefined
  const failing = new Set<string>()
  for (let part = 1; part < 2 ** cause.length; part++) {
    const kept = cause.filter((_, place) => (part >> place) & 1)
    const fails = await search.fails(kept, 'cause')
    if (fails === undefined) return undefined
    if (fails) failing.add(rangesText(kept))
  }
  return coreShapley(cause, (kept) => (failing.has(rangesText(kept)) ? 1 : 0))
}

/**
 * Does the run still fail without every step that is known to matter? Then something else
 * would have failed it as well, and is looked for among the others; otherwise this one
 * question has cleared them all.
 */
async function findBackUps(search: Search, learned: Learned): Promise<void> {
  for (;;) {
    const rest = without(search.everyStep, union(learned.named(), learned.changed))
    const stillFails = rest.length === 0 ? false : await search.fails(rest, 'back-up')
    learned.clearsOthers = stillFails === false
    if (stillFails !== true || learned.causes.length >= search.options.maxCauses) return
    if (!(await addCauseIn(search, learned, rest))) return
  }
}

/**
 * Looks for one more cause among steps that fail together, and takes it if it can be
 * proven. Not if it speaks against a cause that is known: it must not be a part of one, and
 * what two causes share must not fail alone, or both are that and a bystander each.
 */
async function addCauseIn(search: Search, learned: Learned, steps: StepSet): Promise<boolean> {
  const core = await findCore(search, steps)
  if (!core) return false
  for (const cause of learned.causes) {
    const shared = core.filter((step) => cause.includes(step))
    if (shared.length === core.length || shared.length === cause.length) return false
    if (shared.length > 0 && !(await isHarmless(search, shared))) return false
  }
  const first = learned.causes[0]!
  if (core.length === 1 && (await isSometimesEcho(search, first, core[0]!))) {
    learned.changed = union(learned.changed, core)
    return true
  }
  if (!(await proveCause(search, core, 'other')).isProven) return false
  learned.causes.push(core)
  return true
}

async function isHarmless(search: Search, steps: StepSet): Promise<boolean> {
  const cell = search.cell(steps)
  search.reopen(cell)
  const ratio = await search.settle(cell, 'confirm', CONFIRMED)
  if (cell.forks > 0) search.conclude(cell, ratio > 0)
  return ratio < 0
}
