import { clock, count } from '@retake/tape/present'
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { memo, useCallback, useEffect } from 'react'
import type { EventRow, FoundEvents } from '../../model/run-source.js'
import { useCommands } from '../commands/commands.js'
import { TextField } from '../design/fields.js'
import { ErrorNote } from '../design/notes.js'
import { bringRowIntoView, Cell, Grid, GridRow, type ListMoves, useGrid } from './grid.js'
import { lowerBound } from './data/row-store.js'
import type { Run } from './data/use-run.js'
import { route, useSearchChange } from './data/use-selection.js'

const PAGE = 200

/** The pages of events that contain a range. Fetches missing ones. */
function useEvents({ id, source }: Run, first: number, last: number) {
  const [from, to] = [Math.floor(Math.max(0, first) / PAGE), Math.floor(Math.max(0, last) / PAGE)]
  const pages = useQueries({
    queries: Array.from({ length: to - from + 1 }, (_, index) => ({
      queryKey: ['events', id, from + index],
      queryFn: () => source.events((from + index) * PAGE, (from + index + 1) * PAGE),
    })),
  })
  return {
    eventAt: (seq: number) => pages[Math.floor(seq / PAGE) - from]?.data?.[seq % PAGE],
    error: pages.find(({ error }) => error !== null)?.error ?? null,
  }
}

type EventSelection = ReturnType<typeof useEventSelection>

export function useEventSelection() {
  const { list, event, find } = route.useSearch()
  const change = useSearchChange()
  const select = useCallback(
    (next: number | undefined, replace = false) =>
      change((old) => ({ ...old, list: 'events', event: next }), replace),
    [change],
  )
  const setFind = (text: string): void =>
    change((old) => ({ ...old, find: text === '' ? undefined : text }), true)
  /** Opens the list at an event. */
  const toggle = (at: number | undefined): void =>
    change(({ list: old, event: _event, find: _find, ...rest }) =>
      old === 'events' ? rest : { ...rest, list: 'events', event: at },
    )
  return { isOn: list === 'events', event, find, setFind, toggle, select }
}

type ListedEvents = ReturnType<typeof useListedEvents>

/** All events, or those that match the filter. */
export function useListedEvents({ id, source, head }: Run, find: string | undefined) {
  const query = useQuery({
    queryKey: ['found-events', id, find, head.events],
    queryFn: async ({ signal }) => {
      const parts: FoundEvents[] = []
      for await (const part of source.findEvents(find ?? '', signal)) parts.push(part)
      return { rows: parts.flatMap(({ rows }) => rows), isCut: parts.at(-1)?.isCut === true }
    },
    enabled: find !== undefined,
    placeholderData: keepPreviousData,
  })
  const found = find === undefined ? undefined : (query.data?.rows ?? NONE)
  return {
    count: found?.length ?? head.events,
    seqAt: (index: number) => (found === undefined ? index : (found[index]?.seq ?? -1)),
    /** Index of an event in the list, or of the next listed event. */
    indexFrom: (seq: number) =>
      found === undefined ? seq : lowerBound(found.length, (at) => (found[at]?.seq ?? 0) < seq),
    found,
    isSearching: find !== undefined && query.isFetching,
    isCut: find !== undefined && query.data?.isCut === true,
  }
}

const NONE: readonly EventRow[] = []

type EventFilterProps = { readonly events: EventSelection; readonly listed: ListedEvents }

export const EventFilter = ({ events: { find = '', setFind }, listed }: EventFilterProps) => (
  <search className="flex min-w-0 flex-1 items-center gap-2">
    <TextField
      label="Filter events by type or text"
      hidesLabel
      type="search"
      placeholder="Type or text: draw, timer, fs."
      value={find}
      onChange={setFind}
      className="w-60 max-w-full"
    />
    <output className="ml-auto shrink-0 whitespace-nowrap">
      {listed.isSearching
        ? 'Reading…'
        : find !== '' && `${count(listed.count)}${listed.isCut ? ' or more' : ''} found`}
    </output>
  </search>
)

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
  readonly index: number
  readonly seq: number
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
    <GridRow {...rest} height={EVENT_HEIGHT} data-event={seq} onClick={() => onSelect(seq)}>
      {EVENT_COLUMNS.map(({ heading, className }, column) => (
        <Cell key={heading} className={className} title={heading === '' ? event?.text : undefined}>
          {cells[column]}
        </Cell>
      ))}
    </GridRow>
  )
})

interface EventListProps extends ListMoves {
  readonly run: Run
  readonly listed: ListedEvents
}

/** The events of the tape, fetched while scrolling. */
export function EventList({ run, listed, ...moves }: EventListProps) {
  const { event: selected = -1, select } = useEventSelection()
  const { found, seqAt } = listed
  const grid = useGrid(listed.count, EVENT_HEIGHT)
  const { id, list, items } = grid
  const [first, last] = found ? [0, -1] : [items[0]?.index ?? 0, items.at(-1)?.index ?? 0]
  const { eventAt, error } = useEvents(run, first, last)
  const near = listed.indexFrom(selected)
  const index = selected >= 0 && near < listed.count && seqAt(near) === selected ? near : -1
  useEffect(() => {
    if (index >= 0) bringRowIntoView(list, index, EVENT_HEIGHT)
  }, [index, list])
  const choose = useCallback((seq: number) => select(seq), [select])
  return (
    <Grid
      {...moves}
      label="Events"
      grid={grid}
      columns={EVENT_COLUMNS}
      selected={{ index, key: selected }}
      empty={
        <p className="p-3 text-muted">{listed.isSearching ? 'Reading…' : 'No event matches.'}</p>
      }
      note={
        error !== null && (
          <div className="sticky left-0 p-2">
            <ErrorNote error={error} />
          </div>
        )
      }
      renderRow={(at, top) => {
        const seq = seqAt(at)
        return (
          <EventListRow
            key={seq}
            id={`${id}-${seq}`}
            index={at}
            seq={seq}
            event={found ? found[at] : eventAt(seq)}
            top={top}
            isSelected={seq === selected}
            onSelect={choose}
          />
        )
      }}
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
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable element must be reachable by keyboard
        tabIndex={0}
        className="min-h-0 flex-1 overflow-auto p-3 font-mono text-sm wrap-anywhere whitespace-pre-wrap"
      >
        {detail.data === undefined ? 'Reading…' : JSON.stringify(detail.data, undefined, 2)}
      </pre>
    </div>
  )
}

/** `at` is the event to start with. */
export function useEventCommands(
  { isOn, event, select, toggle }: EventSelection,
  { listed, at, onOpen }: { listed: ListedEvents; at: number | undefined; onOpen: () => void },
) {
  const moveEvent = (by: number | 'first' | 'last'): void => {
    const last = listed.count - 1
    const now = event === undefined ? -1 : listed.indexFrom(event)
    const next = by === 'first' ? 0 : by === 'last' ? last : now < 0 ? 0 : now + by
    const to = listed.seqAt(Math.min(last, Math.max(0, next)))
    if (last >= 0 && to >= 0 && to !== event) select(to, true)
  }
  useCommands((add) => {
    add('Look', 'list.events', isOn ? 'List steps' : 'List all events of the tape', ['e'], () =>
      toggle(at),
    )
    if (!isOn) return
    add('Move', 'event.next', 'Next event', ['j'], () => moveEvent(1))
    add('Move', 'event.previous', 'Previous event', ['k'], () => moveEvent(-1))
    add('Move', 'event.first', 'First event', ['g'], () => moveEvent('first'))
    add('Move', 'event.last', 'Last event', ['G'], () => moveEvent('last'))
    add('Move', 'event.open', 'Focus the event', ['o'], onOpen)
  })
  return moveEvent
}
