import type { Command } from '../commands/command.js'
import { useCommands } from '../commands/use-commands.js'
import type { FilteredRows } from './filtered-rows.js'
import { firstLook, moveBy, moveInLane, moveToFailed } from './run-moves.js'
import { useKeyRepeat } from './use-key-repeat.js'
import type { Run } from './use-run.js'
import { useSelection } from './use-selection.js'

export interface RunMoves {
  /** To another shown row. */
  readonly move: (by: number | 'first' | 'last') => void
}

/** The keys that move through the steps of a run. */
export function useRunCommands(
  run: Run,
  shown: FilteredRows,
  { onOpen, isOff }: { readonly onOpen: () => void; readonly isOff: boolean },
): RunMoves {
  const { rows } = run
  const { step, select } = useSelection()
  const isRepeating = useKeyRepeat()
  const place = step === undefined ? -1 : rows.placeOf(step)

  const go = (to: number): void => {
    if (to >= 0 && to !== place) select(rows.at(to).label, { replace: isRepeating.current })
  }
  const move: RunMoves['move'] = (by) => {
    if (by === 'first') go(shown.length === 0 ? -1 : shown.placeAt(0))
    else if (by === 'last') go(shown.length === 0 ? -1 : shown.placeAt(shown.length - 1))
    else go(place < 0 && by > 0 ? startOf(shown) : moveBy(shown, place, by))
  }
  const parent = place < 0 ? undefined : rows.at(place).parent

  const commands: Command[] = [
    command('step.next', 'Next step', ['j'], () => move(1)),
    command('step.previous', 'Previous step', ['k'], () => move(-1)),
    command('step.parent', 'Step that asked for this one', ['h'], () =>
      go(parent === undefined ? -1 : rows.placeOf(parent)),
    ),
    command('step.child', 'First step that this one asked for', ['l'], () =>
      go(step === undefined ? -1 : rows.firstChildOf(step)),
    ),
    command('step.lane-previous', 'Previous step in the lane', ['['], () =>
      go(place < 0 ? -1 : moveInLane(shown, place, -1)),
    ),
    command('step.lane-next', 'Next step in the lane', [']'], () =>
      go(place < 0 ? -1 : moveInLane(shown, place, 1)),
    ),
    command('step.first', 'First step', ['g'], () => move('first')),
    command('step.last', 'Last step', ['G'], () => move('last')),
    command('step.next-error', 'Next failed step', ['.'], () => go(moveToFailed(shown, place, 1))),
    command('step.previous-error', 'Previous failed step', [','], () =>
      go(moveToFailed(shown, place, -1)),
    ),
    command('step.open', 'Go into the step', ['o'], onOpen),
  ]
  useCommands(isOff ? [] : commands)
  return { move }
}

const command = (id: string, title: string, keys: readonly string[], run: () => void): Command => ({
  id,
  title,
  group: 'Move',
  keys,
  run,
})

/** With nothing selected yet, the first key leads to where one would look first. */
function startOf(shown: FilteredRows): number {
  const first = firstLook(shown.rows)
  return first !== undefined && shown.has(first) ? first : moveBy(shown, -1, 1)
}
