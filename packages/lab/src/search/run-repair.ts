import type { Search } from './search.js'
import { minimalRepair, union, upTo, without } from './step-set.js'

/** Enough forks of a repair to print a rate. */
const REPAIR_FORKS = 6

/**
 * Tests the smallest repair, so that no repair is printed that was not seen to pass. Frees one step
 * of each cause, and also either the steps that follow from a cause or all later steps.
 */
export async function runRepair(search: Search): Promise<void> {
  const { learned, ledger, levels, everyStep } = search
  if (!learned && !search.ambientCause) return
  const steps = minimalRepair(learned?.causes ?? [])
  const free = union(steps, learned?.followers() ?? [])
  const candidates = [search.cell(without(everyStep, free)), search.cell(upTo((free[0] ?? 0) - 1))]
  // Candidates with more forks need fewer new ones.
  for (const cell of candidates.toSorted((a, b) => b.forks - a.forks)) {
    const wanted = levels.isCertaintyExpected ? 2 : REPAIR_FORKS
    await ledger.draw(cell, 'repair', wanted - cell.forks)
    if (cell.forks === 0 || (cell.verdict !== false && levels.logRatio(cell) > 0)) continue
    search.repair = { steps, cell }
    return
  }
}
