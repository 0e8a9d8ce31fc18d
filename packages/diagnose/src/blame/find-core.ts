import type { ProbePurpose } from '@retake/tape'
import { areStillSeparate } from './anchors.js'
import { firstFail } from './first-fail.js'
import type { Search } from './search.js'
import { union, without, type StepSet } from './step-set.js'

const MAX_MEMBERS = 8
/** How often a bisection that its own prefix contradicts is done again, with what was learned. */
const MAX_RETRIES = 3

/**
 * The smallest set of these steps that fails, of those the one that is complete first.
 * `undefined` where none was found. Whether it is right is for `proveCause` to say.
 */
export async function findCore(search: Search, pool: StepSet): Promise<StepSet | undefined> {
  const core = await growCore(search, pool)
  return core && shrinkCore(search, core)
}

/** Adds, from the last back to the first, the steps without which the others do not fail. */
async function growCore(search: Search, pool: StepSet): Promise<StepSet | undefined> {
  let core: StepSet = []
  let candidates = pool
  let retries = 0
  while (core.length < MAX_MEMBERS && candidates.length > 0) {
    const purpose: ProbePurpose = core.length === 0 && isPrefix(pool) ? 'prefix' : 'cause'
    const question = { candidates, fixed: core, purpose, errorRate: search.errorRate }
    const { at, probability } = await firstFail(search, question)
    // Much that does not come to an end is what chance looks like.
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

/** Drops every member without which the others fail as well. */
async function shrinkCore(search: Search, core: StepSet): Promise<StepSet> {
  let needed = core
  for (const step of core) {
    if (needed.length === 1) break
    const others = without(needed, [step])
    if (await search.fails(others, 'minimal')) needed = others
  }
  return needed
}

function isPrefix(pool: StepSet): boolean {
  return pool.at(-1) === pool.length - 1
}
