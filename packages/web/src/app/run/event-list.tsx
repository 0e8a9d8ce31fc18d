import { clock, count } from '@retake/tape/present'
import { useQueries, useQuery } from '@tanstack/react-query'
import { memo, useCallback, useEffect } from 'react'
import type { EventRow } from '../../model/run-source.js'
import { useCommands } from '../commands/commands.js'
import { ErrorNote } from '../design/notes.js'
import {
  bringRowIntoView,
  Cell,
  Grid,
  GridRow,
  type ListMoves,
  useGrid,
  useKeyRepeat,
} from './grid.js'
import type { Run } from './use-run.js'
import { route, useSearchChange } from './use-selection.js'

const PAGE = 200

/** Pages of events around a range; missing ones are fetched. */
function useEvents(
  { id, source }: Run,
  first: number,
  last: number,
): { readonly eventAt: (seq: number) => EventRow | undefined; readonly error: Error | null } {
  const [from, to] = [Math.floor(Math.max(0, first) / PAGE), Math.floor(Math.max(0, last) / PAGE)]
  const pages = useQueries({
    queries: Array.from({ length: to - from + 1 }, (_, index) => ({
      queryKey: ['events', id, from + index],
      queryFn: () => source.events((from + index) * PAGE, (from + index + 1) * PAGE),
    })),
  })
  return {
    eventAt: (seq) => pages[Math.floor(seq / PAGE) - from]?.data?.[seq % PAGE],
    error: pages.find(({ error }) => error !== null)?.error ?? null,
  }
}

interface EventSelection {
  readonly isOn: boolean
  readonly event: number | undefined
  readonly toggle: () => void
  readonly select: (event: number | undefined, options?: { readonly replace?: boolean }) => void
}

export function useEventSelection(): EventSelection {
  const { list, event } = route.useSearch()
  const change = useSearchChange()
  const select = useCallback<EventSelection['select']>(
    (next, { replace = false } = {}) =>
      change((old) => ({ ...old, list: 'events', event: next }), replace),
    [change],
  )
  const toggle = (): void =>
    change(({ list: old, event: _event, ...rest }) =>
      old === 'events' ? rest : { ...rest, list: 'events' },
    )
  return { isOn: list === 'events', event, toggle, select }
}

const EVENT_HEIGHT = 24

const FIGURE = 'shrink-0 text-right font-mono text-sm text-muted'

const EVENT_COLUMNS = [
  { heading: 'event', className: `w-14 ${FIGURE}` },
  { heading: 'type', className: 'w-20 shrink-0 truncate' },
  { heading: '', className: 'min-w-0 flex-1 truncate' },
  { heading: 'body', className: `hidden w-18 ${FIGURE} @min-[420px]:block` },
  { heading: 'at', className: `hidden w-17 ${FIGURE} @min-[480px]:block` },
] as const

interface EventListRowProps {
  readonly id: string
  readonly seq: number
  /** Undefined while loading. */
  readonly event: EventRow | undefined
  readonly top: number
  readonly isSelected: boolean
  readonly onSelect: (seq: number) => void
}

const EventListRow = memo(function EventListRow(props: EventListRowProps) {
  const { seq, event, onSelect, ...rest } = props
  const cells = [
    seq,
    event?.type ?? '…',
    event?.text,
    event === undefined || event.bytes === 0 ? '' : `${count(event.bytes)} B`,
    event === undefined ? '' : clock(event.at),
  ]
  return (
    <GridRow
      {...rest}
      index={seq}
      height={EVENT_HEIGHT}
      data-event={seq}
      onClick={() => onSelect(seq)}
    >
      {EVENT_COLUMNS.map(({ heading, className }, column) => (
        <Cell key={heading} className={className} title={heading === '' ? event?.text : undefined}>
          {cells[column]}
        </Cell>
      ))}
    </GridRow>
  )
})

/** All events of the tape, fetched while scrolling. */
export function EventList({ run, ...moves }: ListMoves & { run: Run }) {
  const { event: selected = -1, select } = useEventSelection()
  const count = run.head.events
  const grid = useGrid(count, EVENT_HEIGHT)
  const { id, list, items } = grid
  const { eventAt, error } = useEvents(run, items[0]?.index ?? 0, items.at(-1)?.index ?? 0)
  useEffect(() => {
    if (selected >= 0 && selected < count) bringRowIntoView(list, selected, EVENT_HEIGHT)
  }, [selected, count, list])
  const choose = useCallback((seq: number) => select(seq), [select])
  return (
    <Grid
      {...moves}
      label="Events"
      grid={grid}
      columns={EVENT_COLUMNS}
      selected={{ index: selected, key: selected }}
      note={
        error !== null && (
          <div className="sticky left-0 p-2">
            <ErrorNote error={error} />
          </div>
        )
      }
      renderRow={(index, top) => (
        <EventListRow
          key={index}
          id={`${id}-${index}`}
          seq={index}
          event={eventAt(index)}
          top={top}
          isSelected={index === selected}
          onSelect={choose}
        />
      )}
    />
  )
}

export function EventPanel({ run, event }: { run: Run; event: number | undefined }) {
  const detail = useQuery({
    queryKey: ['event', run.id, event],
    queryFn: async () => (await run.source.event(event ?? 0)) ?? null,
    enabled: event !== undefined,
  })
  if (event === undefined) return <p className="p-4 text-muted">Select an event.</p>
  if (detail.error !== null)
    return (
      <div className="p-3">
        <ErrorNote error={detail.error} />
      </div>
    )
  return (
    <div className="flex min-w-0 flex-1 flex-col">
      <h2 className="shrink-0 border-b border-line px-3 py-1.5 text-sm text-muted">
        Event {event}
      </h2>
      <pre
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard
        tabIndex={0}
        className="min-h-0 flex-1 overflow-auto p-3 font-mono text-sm wrap-anywhere whitespace-pre-wrap"
      >
        {detail.data === undefined ? 'Reading…' : JSON.stringify(detail.data, undefined, 2)}
      </pre>
    </div>
  )
}

interface EventMoves {
  readonly moveEvent: (by: number | 'first' | 'last') => void
}

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
  useCommands((add) => {
    add('Look', 'list.events', isOn ? 'List steps' : 'List all events of the tape', ['e'], toggle)
    if (!isOn) return
    add('Move', 'event.next', 'Next event', ['j'], () => moveEvent(1))
    add('Move', 'event.previous', 'Previous event', ['k'], () => moveEvent(-1))
    add('Move', 'event.first', 'First event', ['g'], () => moveEvent('first'))
    add('Move', 'event.last', 'Last event', ['G'], () => moveEvent('last'))
    add('Move', 'event.open', 'Focus the event', ['o'], onOpen)
  })
  return { moveEvent }
}
