import { findCore } from './find-core.js'
import { isSometimesEcho } from './find-echoes.js'
import type { Learned } from './learned.js'
import { proveCause } from './prove-cause.js'
import { CONFIRMED, type Search } from './search.js'
import { union, without, type StepSet } from './step-set.js'

/**
 * Does the run still fail without every step that is known to matter? Then something else
 * would have failed it as well, and is looked for among the others; otherwise this one
 * question has cleared them all.
 */
export async function findBackUps(search: Search, learned: Learned): Promise<void> {
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
export async function addCauseIn(
  search: Search,
  learned: Learned,
  steps: StepSet,
): Promise<boolean> {
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
