import { useCommands } from '../../commands/use-commands.js'
import { useKeyRepeat } from '../use-key-repeat.js'
import type { Run } from '../use-run.js'
import type { EventSelection } from './use-event-selection.js'

export interface EventMoves {
  readonly moveEvent: (by: number | 'first' | 'last') => void
}

/** The keys that move through the events of a tape, while they are listed, and the one that lists them. */
export function useEventCommands(
  { head }: Run,
  { isOn, event, select, toggle }: EventSelection,
  { onOpen }: { readonly onOpen: () => void },
): EventMoves {
  const isRepeating = useKeyRepeat()
  const moveEvent: EventMoves['moveEvent'] = (by) => {
    const last = head.events - 1
    const next = by === 'first' ? 0 : by === 'last' ? last : event === undefined ? 0 : event + by
    const to = Math.min(last, Math.max(0, next))
    if (to >= 0 && to !== event) select(to, { replace: isRepeating.current })
  }
  const move = (id: string, title: string, key: string, by: number | 'first' | 'last') => ({
    id,
    title,
    group: 'Move' as const,
    keys: [key],
    run: () => moveEvent(by),
  })
  useCommands([
    {
      id: 'list.events',
      title: isOn ? 'List steps' : 'List all events of the tape',
      group: 'Look',
      keys: ['e'],
      run: toggle,
    },
    ...(isOn
      ? [
          move('event.next', 'Next event', 'j', 1),
          move('event.previous', 'Previous event', 'k', -1),
          move('event.first', 'First event', 'g', 'first'),
          move('event.last', 'Last event', 'G', 'last'),
          {
            id: 'event.open',
            title: 'Go into the event',
            group: 'Move' as const,
            keys: ['o'],
            run: onOpen,
          },
        ]
      : []),
  ])
  return { moveEvent }
}
