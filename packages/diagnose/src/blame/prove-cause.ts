import type { ProbePurpose } from '@retake/tape'
import { barOf, type Search } from './search.js'
import { logOddsOfTwoRates } from './two-rates.js'
import { upTo, without, type StepSet } from './step-set.js'

/** How much stricter than a step of the search the tests are that name a cause. */
const STRICTER = 5
/** For these tests more forks may be spent than for a step of the search. */
const MAX_DRAWS = 300

/** When a cause fails too rarely to explain the run, and when that is worth a look, as logarithms. */
const WEAKER = Math.log(100)
const MAYBE_WEAKER = 0

export interface Proof {
  readonly isProven: boolean
  /** At most how likely one of its tests is wrong. */
  readonly errorRate: number
}

/**
 * Tests what it means to be a cause, more strictly than the search that found it: kept
 * alone it fails, without any one member it does not, and, for the first cause, it does
 * not fail before its last member.
 */
export async function proveCause(
  search: Search,
  core: StepSet,
  order: 'first' | 'other',
): Promise<Proof> {
  const last = core.at(-1)!
  const claims: [StepSet, boolean, ProbePurpose][] = [[core, true, 'cause']]
  for (const step of core) claims.push([without(core, [step]), false, 'minimal'])
  if (order === 'first') claims.push([upTo(last - 1), false, 'repair'])
  let errorRate = 0
  for (const [kept, fails, purpose] of claims) {
    const odds = await oddsOf(search, kept, fails, purpose)
    if (odds < barOf(search.errorRate)) return { isProven: false, errorRate: 1 }
    errorRate += 1 / (1 + Math.exp(odds))
  }
  if (await isWeaker(search, core)) return { isProven: false, errorRate: 1 }
  return { isProven: true, errorRate: Math.min(1, errorRate) }
}

/** Whether it plainly fails less often than the whole run: then it raises the risk, and something else makes it real. */
async function isWeaker(search: Search, core: StepSet): Promise<boolean> {
  const whole = search.cell(search.everyStep)
  const alone = search.cell(core)
  for (;;) {
    const odds = logOddsOfTwoRates(search.levels, whole, alone)
    if (odds >= WEAKER) return true
    const isOpen = odds > MAYBE_WEAKER && whole.forks < alone.forks
    if (!isOpen || search.ledger.isExhausted(whole)) return false
    await search.ledger.draw(whole, 'anchor')
    search.refit()
  }
}

/** How much likelier the claim is than its opposite, as a logarithm. */
async function oddsOf(
  search: Search,
  kept: StepSet,
  fails: boolean,
  purpose: ProbePurpose,
): Promise<number> {
  const cell = search.cell(kept)
  const strict = barOf(search.errorRate / STRICTER)
  const bars = { fails: strict, passes: strict, maxDraws: MAX_DRAWS }
  // Its own forks must not have shaped the rates that they are measured by.
  search.reopen(cell)
  const ratio = await search.settle(cell, purpose, bars)
  if (cell.forks > 0) search.conclude(cell, ratio > 0)
  return fails ? ratio : -ratio
}
