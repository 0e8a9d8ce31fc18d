/* oxlint-disable jsx-a11y/prefer-tag-over-role -- rows that are placed by hand cannot be those of a table */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useId, useRef } from 'react'
import { ErrorNote } from '../../design/error-note.js'
import { pageOf, pressInList, type ListMoves } from '../list-keys.js'
import type { Run } from '../use-run.js'
import { EVENT_COLUMNS, EVENT_HEIGHT, EventRow } from './event-row.js'
import { useEventSelection } from './use-event-selection.js'
import { useEvents } from './use-events.js'

export interface EventListProps extends ListMoves {
  readonly run: Run
}

/** Every event of the tape. They are read as one scrolls: only those on the screen are asked for. */
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
          <EventRow
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
