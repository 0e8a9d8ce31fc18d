import { mapConcurrent } from '@retake/tape'
import type { Learned } from './learn-causes.js'
import { CONFIRMED, type Search } from './search.js'
import { randomRepair, someRepairs, type StepSet, union, upTo, without } from './step-set.js'

const LONGER_PREFIXES = 3
const REPAIRS = 3
const RANDOM_COALITIONS = 8
/** The same if the run seems deterministic, so that each one has a certain result. */
const CERTAIN_COALITIONS = 7
/** Discount on the required evidence, because a coalition is expected to behave as predicted. */
const EXPECTED = Math.log(20)
const MIN_BAR = 1.5

export interface Contradiction {
  readonly pinned: StepSet
  readonly fails: boolean
}

/**
 * Tests the conclusions with coalitions that the search had no reason to try: longer prefixes, the
 * whole run with one step of each cause repaired, and random steps. Stops as soon as a cause
 * passes, because no additional cause can explain that.
 */
export async function auditCauses(
  search: Search,
  learned: Learned,
): Promise<Contradiction | undefined> {
  const coalitions = chooseCoalitions(search, learned)
  const results = await mapConcurrent(
    coalitions,
    search.ledger.concurrency,
    (pinned) => contradicts(search, learned, pinned),
    isFinal,
  )
  const contradiction = results.find(isFinal) ?? results.find((result) => result !== undefined)
  const open = coalitions.filter((pinned) => search.cell(pinned).forks === 0)
  if (contradiction === undefined && 2 * open.length > coalitions.length)
    search.note('Most audit forks have no verdict: the cause is proven, but hardly audited.')
  return contradiction
}

/** True if a cause passed. */
function isFinal(result: Contradiction | undefined): boolean {
  return result !== undefined && !result.fails
}

function chooseCoalitions(search: Search, learned: Learned): StepSet[] {
  const { random, stepCount, everyStep, mode } = search
  const { causes } = learned
  const chosen = new Map<unknown, StepSet>()
  // If there are more causes than may be named, it is unknown which coalitions pass.
  const predictsPasses = learned.clearsOthers || causes.length < search.options.maxCauses
  const add = (pinned: StepSet) => {
    const steps = without(pinned, learned.followers())
    const cell = search.cell(steps)
    if (cell.verdict === undefined && (predictsPasses || learned.predicts(steps))) {
      chosen.set(cell, steps)
    }
  }
  const last = causes[0]!.at(-1)!
  if (mode === 'free' && last < stepCount - 1) {
    for (let count = 0; count < LONGER_PREFIXES; count++) {
      add(upTo(last + 1 + Math.floor(random() * (stepCount - 1 - last))))
    }
  }
  for (const repair of someRepairs(causes, REPAIRS, random)) add(without(everyStep, repair))
  const { isCertaintyExpected } = search.levels
  const wanted = isCertaintyExpected ? CERTAIN_COALITIONS : RANDOM_COALITIONS
  for (let count = 0; count < wanted; count++) {
    const some = everyStep.filter(() => random() < 0.5)
    add(count % 2 === 0 ? union(some, causes[0]!) : without(some, randomRepair(causes, random)))
  }
  return [...chosen.values()]
}

async function contradicts(
  search: Search,
  learned: Learned,
  pinned: StepSet,
): Promise<Contradiction | undefined> {
  const cell = search.cell(pinned)
  const expected = learned.predicts(pinned)
  const easier = Math.max(MIN_BAR, search.bar - EXPECTED)
  const bars = expected
    ? { fails: easier, passes: search.bar }
    : { fails: search.bar, passes: easier }
  const ratio = await search.settle(cell, 'audit', bars)
  if (cell.forks === 0) return undefined
  if (ratio > 0 === expected) {
    search.conclude(cell, expected)
    return undefined
  }
  const confirmed = await search.settle(cell, 'confirm', CONFIRMED)
  if (Math.abs(confirmed) < CONFIRMED.fails / 2) return undefined
  search.conclude(cell, confirmed > 0)
  return confirmed > 0 === expected ? undefined : { pinned, fails: confirmed > 0 }
}
