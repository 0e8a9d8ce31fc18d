import { areStillSeparate } from './anchors.js'
import { auditCauses } from './audit-causes.js'
import { addCauseIn, findBackUps } from './find-back-ups.js'
import { coreShapley } from './classic/core-shapley.js'
import { findCore } from './find-core.js'
import { findChanged } from './find-echoes.js'
import { Learned } from './learned.js'
import { leaveOneOut } from './leave-one-out.js'
import { proveCause } from './prove-cause.js'
import { findRaisedRisk } from './risk-curve.js'
import type { Search } from './search.js'
import { rangesText, type StepSet } from './step-set.js'
import { stillPasses } from './still-passes.js'

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
