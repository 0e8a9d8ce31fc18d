/* oxlint-disable jsx-a11y/prefer-tag-over-role -- rows that are placed by hand cannot be those of a table */
import { clock, count } from '@retake/tape/present'
import { useQueries, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useCallback, useEffect, useId, useRef } from 'react'
import type { EventRow } from '../../model/run-source.js'
import { useCommands } from '../commands/commands.js'
import { classes } from '../design/classes.js'
import { ErrorNote } from '../design/notes.js'
import { type ListMoves, pageOf, pressInList, useKeyRepeat } from './list-keys.js'
import type { Run } from './use-run.js'

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

const route = getRouteApi('/runs/$run')

export interface EventSelection {
  readonly isOn: boolean
  readonly event: number | undefined
  readonly toggle: () => void
  readonly select: (event: number | undefined, options?: { readonly replace?: boolean }) => void
}

export function useEventSelection(): EventSelection {
  const { list, event } = route.useSearch()
  const navigate = route.useNavigate()
  const toggle = useCallback(
    () =>
      void navigate({
        search: ({ list: old, event: _event, ...rest }) =>
          old === 'events' ? rest : { ...rest, list: 'events' },
      }),
    [navigate],
  )
  const select = useCallback<EventSelection['select']>(
    (next, { replace = false } = {}) =>
      void navigate({
        search: (old) => ({ ...old, list: 'events', event: next }),
        replace,
      }),
    [navigate],
  )
  return { isOn: list === 'events', event, toggle, select }
}

/* oxlint-disable jsx-a11y/prefer-tag-over-role -- rows that are placed by hand cannot be those of a table */

const EVENT_HEIGHT = 24

const EVENT_COLUMNS = {
  seq: 'w-14 shrink-0 text-right font-mono text-sm text-muted',
  type: 'w-20 shrink-0 truncate',
  text: 'min-w-0 flex-1 truncate',
  bytes: 'hidden w-18 shrink-0 text-right font-mono text-sm text-muted @min-[420px]:block',
  at: 'hidden w-17 shrink-0 text-right font-mono text-sm text-muted @min-[480px]:block',
} as const

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
  const { seq, event, isSelected } = props
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the grid has the focus and the keys
    <div
      role="row"
      id={props.id}
      aria-rowindex={seq + 2}
      aria-selected={isSelected}
      data-event={seq}
      style={{ top: props.top, height: EVENT_HEIGHT }}
      className={classes(
        'absolute inset-x-0 flex cursor-default items-center gap-2 pr-3 pl-1 select-none',
        isSelected ? 'bg-accent-soft shadow-[inset_2px_0_0_var(--accent)]' : 'hover:bg-raised',
      )}
      onClick={() => props.onSelect(seq)}
    >
      <span role="gridcell" className={EVENT_COLUMNS.seq}>
        {seq}
      </span>
      <span role="gridcell" className={EVENT_COLUMNS.type}>
        {event?.type ?? '…'}
      </span>
      <span role="gridcell" className={EVENT_COLUMNS.text} title={event?.text}>
        {event?.text}
      </span>
      <span role="gridcell" className={EVENT_COLUMNS.bytes}>
        {event === undefined || event.bytes === 0 ? '' : `${count(event.bytes)} B`}
      </span>
      <span role="gridcell" className={EVENT_COLUMNS.at}>
        {event === undefined ? '' : clock(event.at)}
      </span>
    </div>
  )
})

export interface EventListProps extends ListMoves {
  readonly run: Run
}

/** All events of the tape, fetched while scrolling. */
export function EventList({ run, ...moves }: EventListProps) {
  const { event: selected, select } = useEventSelection()
  const scroller = useRef<HTMLDivElement>(null)
  const id = useId()
  const count = run.head.events
  const list = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => EVENT_HEIGHT,
    overscan: 10,
    scrollPaddingStart: 28,
  })
  const items = list.getVirtualItems()
  const { eventAt, error } = useEvents(run, items[0]?.index ?? 0, items.at(-1)?.index ?? 0)
  useEffect(() => {
    if (selected !== undefined && selected < count) list.scrollToIndex(selected, { align: 'auto' })
  }, [selected, count, list])
  const choose = useCallback((seq: number) => select(seq), [select])
  const press = (event: React.KeyboardEvent): void =>
    pressInList(event, moves, pageOf(scroller.current, EVENT_HEIGHT))
  return (
    <div
      ref={scroller}
      role="grid"
      tabIndex={0}
      aria-label="Events"
      aria-rowcount={count + 1}
      aria-activedescendant={
        items.some(({ index }) => index === selected) ? `${id}-${selected}` : undefined
      }
      className="@container relative h-full overflow-auto"
      onKeyDown={press}
    >
      <div role="rowgroup" className="sticky top-0 z-10">
        <div
          role="row"
          aria-rowindex={1}
          className="flex h-7 items-center gap-2 border-b border-line bg-raised pr-3 pl-1 text-sm text-muted"
        >
          {(['seq', 'type', 'text', 'bytes', 'at'] as const).map((name) => (
            <span
              key={name}
              role="columnheader"
              className={`${EVENT_COLUMNS[name]} font-sans text-sm`}
            >
              {{ seq: 'event', type: 'type', text: '', bytes: 'body', at: 'at' }[name]}
            </span>
          ))}
        </div>
      </div>
      {error !== null && (
        <div className="sticky left-0 p-2">
          <ErrorNote error={error} />
        </div>
      )}
      <div role="rowgroup" className="relative" style={{ height: list.getTotalSize() }}>
        {items.map(({ index, start }) => (
          <EventListRow
            key={index}
            id={`${id}-${index}`}
            seq={index}
            event={eventAt(index)}
            top={start}
            isSelected={index === selected}
            onSelect={choose}
          />
        ))}
      </div>
    </div>
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
