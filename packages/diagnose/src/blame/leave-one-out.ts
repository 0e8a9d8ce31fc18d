import { atOnce } from './at-once.js'
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
