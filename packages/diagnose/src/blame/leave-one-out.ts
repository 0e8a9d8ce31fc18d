import type { Search } from './search.js'
import { without, type StepSet } from './step-set.js'

/** So many tests must not err even once. */
const ERROR_RATE = 1e-4

/**
 * The steps without any one of which the whole run passes. This holds also where causes
 * undo each other, so that no search by halves can work; it takes a test for every step.
 */
export async function leaveOneOut(search: Search, changed: StepSet): Promise<StepSet> {
  const { everyStep, ledger } = search
  search.errorRate = Math.min(search.errorRate, ERROR_RATE)
  const needed: number[] = []
  const tried = without(everyStep, changed)
  for (let from = 0; from < tried.length; from += ledger.concurrency) {
    const batch = tried.slice(from, from + ledger.concurrency)
    const fails = await Promise.all(
      batch.map((step) => search.fails(without(everyStep, [step]), 'one out')),
    )
    needed.push(...batch.filter((_, index) => fails[index] === false))
  }
  return needed
}
