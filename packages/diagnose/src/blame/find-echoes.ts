import type { StepValue } from './fork-source.js'
import type { Cell } from './ledger.js'
import type { Search } from './search.js'
import { upTo, without, type StepSet } from './step-set.js'

/** As many forks of each side are looked at before a step is told to repeat a cause only sometimes. */
const FORKS_TO_COMPARE = 6

/**
 * Steps that came to what was recorded because of a cause: kept alone it brings their
 * values about in most forks, and where it is repaired, or only the member that they follow
 * from, they mostly vanish. Reads forks that were drawn to prove the cause, and draws none.
 */
export function findChanged(search: Search, cause: StepSet): StepSet {
  if (search.mode === 'frozen') return []
  const caused = search.cell(cause)
  if (caused.values.length === 0) return []
  const repaired = [
    { cell: repairedCell(search, cause), after: -1 },
    ...cause.slice(0, -1).map((member) => ({
      cell: search.cell(without(cause, [member])),
      after: member,
    })),
  ].filter(({ cell }) => cell.values.length > 0)
  return without(search.everyStep, cause).filter(
    (step) =>
      share(search, caused, step) > 0.5 &&
      repaired.some(({ cell, after }) => step > after && share(search, cell, step) < 0.5),
  )
}

/**
 * Whether a step that fails alone only repeats a cause, even if not in most forks: its
 * value comes up when the cause is kept, and never when it is repaired.
 */
export async function isSometimesEcho(
  search: Search,
  cause: StepSet,
  step: number,
): Promise<boolean> {
  if (step <= cause.at(-1)!) return false
  const { ledger } = search
  const caused = search.cell(cause, 'free')
  const repaired = search.mode === 'free' ? repairedCell(search, cause) : search.cell([], 'free')
  for (const cell of [caused, repaired]) {
    while (cell.forks < FORKS_TO_COMPARE && !ledger.isExhausted(cell)) {
      await ledger.draw(cell, 'echo', FORKS_TO_COMPARE - cell.forks)
    }
  }
  return share(search, caused, step) > 0 && share(search, repaired, step) === 0
}

/** The run up to the last member of a cause, with that member and what follows free. */
function repairedCell(search: Search, cause: StepSet): Cell {
  return search.cell(upTo(cause.at(-1)! - 1), 'free')
}

/** In how many of its forks a step came to what was recorded. */
function share({ source }: Search, cell: Cell, step: number): number {
  const recorded: StepValue | undefined = source.recorded[step]
  let same = 0
  for (const values of cell.values) if (values[step] === recorded) same++
  return cell.values.length === 0 ? 0 : same / cell.values.length
}
