import type { Search } from './search.js'

/** As many more forks with every step free are looked at, and where they fail as many again. */
const A_FEW = 2
const SOME = 6

/**
 * Whether the run still passes with every step free, by forks of now alone. Where the world
 * has changed since the search began, as a service went down, whatever is tried fails, and
 * every step would look like one more cause.
 */
export async function stillPasses(search: Search): Promise<boolean> {
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
