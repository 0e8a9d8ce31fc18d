import type { Search } from './search.js'
import { without, type StepSet } from './step-set.js'

/** So many tests must not err even once. */
const ERROR_RATE = 1e-4
const MAX_DRAWS = 200

/**
 * The steps without any one of which the whole run passes. This holds also where causes
 * undo each other, so that no search by halves can work; it takes a test for every step.
 * `undefined` where one of these tests stays open.
 */
export async function leaveOneOut(search: Search, changed: StepSet): Promise<StepSet | undefined> {
  const { everyStep, ledger } = search
  search.errorRate = Math.min(search.errorRate, ERROR_RATE)
  const bars = { fails: search.bar, passes: search.bar, maxDraws: MAX_DRAWS }
  const needed: number[] = []
  const tried = without(everyStep, changed)
  for (let from = 0; from < tried.length; from += ledger.concurrency) {
    const batch = tried.slice(from, from + ledger.concurrency)
    const cells = batch.map((step) => search.cell(without(everyStep, [step])))
    const ratios = await Promise.all(cells.map((cell) => search.settle(cell, 'one out', bars)))
    if (ratios.some((ratio) => Math.abs(ratio) < search.bar)) return undefined
    for (const [index, cell] of cells.entries()) {
      const ratio = ratios[index]!
      search.conclude(cell, ratio > 0)
      if (ratio < 0) needed.push(batch[index]!)
    }
  }
  return needed
}
