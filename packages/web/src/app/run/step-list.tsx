/* oxlint-disable jsx-a11y/prefer-tag-over-role -- rows that are placed by hand cannot be those of a table */
import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useId, useMemo, useRef, useState } from 'react'
import { STEP_CELLS } from '@retake/tape/present'
import { useBlame } from '../blame/use-blame.js'
import { classes } from '../design/classes.js'
import type { FilteredRows } from './filtered-rows.js'
import { pageOf, pressInList, type ListMoves } from './list-keys.js'
import { COLUMNS, ROW_HEIGHT, StepListRow } from './step-row.js'
import type { Run } from './use-run.js'
import { useSelection } from './use-selection.js'

const HEADER_HEIGHT = 28

export interface StepListProps extends ListMoves {
  readonly run: Run
  readonly shown: FilteredRows
}

/**
 * The steps of a run; only what is on the screen is in the page. The list itself has
 * the focus and names the row that is selected. While the run goes on it stays at its
 * end, unless somebody scrolls away from there.
 */
export function StepList({ run, shown, ...moves }: StepListProps) {
  const { head, rows } = run
  const { step, select } = useSelection()
  const { view: blame } = useBlame(run)
  const scroller = useRef<HTMLDivElement>(null)
  const id = useId()
  const lanes = useMemo(() => new Map(head.lanes.map((lane) => [lane.id, lane])), [head.lanes])
  const count = shown.length
  const list = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
  })

  const place = step === undefined ? -1 : rows.placeOf(step)
  const index = place >= 0 && shown.has(place) ? shown.indexFrom(place) : -1
  useEffect(() => {
    // Only when another row is selected or it moved: not when somebody scrolls.
    if (index >= 0) bringIntoView(list, index)
  }, [index, step, list])
  const near = place < 0 ? 0 : shown.indexFrom(place)
  const latestNear = useRef(near)
  useEffect(() => {
    latestNear.current = near
  })
  useEffect(() => {
    // Another filter: what is selected, or comes after it, is shown, not what happens to be there.
    bringIntoView(list, latestNear.current)
  }, [shown, list])

  const [isAtEnd, setAtEnd] = useState(head.status === 'recording' && step === undefined)
  useEffect(() => {
    const { current } = scroller
    if (isAtEnd && head.status === 'recording' && current !== null)
      current.scrollTop = count * ROW_HEIGHT
  }, [isAtEnd, head.status, count])
  const lastTop = useRef(0)
  const scrolled = (): void => {
    const { current } = scroller
    if (current === null || head.status !== 'recording') return
    const { scrollTop, scrollHeight, clientHeight } = current
    const isUp = scrollTop < lastTop.current
    lastTop.current = scrollTop
    // Rows that come below are no reason to stop following; somebody who scrolls up is.
    if (scrollHeight - scrollTop - clientHeight < 2 * ROW_HEIGHT) setAtEnd(true)
    else if (isUp) setAtEnd(false)
  }

  const choose = useCallback((label: string) => select(label), [select])
  const press = (event: React.KeyboardEvent): void =>
    pressInList(event, moves, pageOf(scroller.current, ROW_HEIGHT))

  const items = list.getVirtualItems()
  const isSelectedDrawn = items.some((item) => item.index === index)
  return (
    <div
      ref={scroller}
      role="grid"
      tabIndex={0}
      aria-label="Steps"
      aria-rowcount={count + 1}
      aria-activedescendant={isSelectedDrawn ? `${id}-${step}` : undefined}
      className="@container relative h-full overflow-auto"
      onKeyDown={press}
      onScroll={scrolled}
    >
      <ListHeader hasLanes={lanes.size > 1} />
      <div role="rowgroup" className="relative" style={{ height: list.getTotalSize() }}>
        {items.map((item) => {
          const row = rows.at(shown.placeAt(item.index))
          return (
            <StepListRow
              key={row.label}
              id={`${id}-${row.label}`}
              row={row}
              role={blame?.roleOf(row.label)}
              rowIndex={item.index + 1}
              top={item.start}
              lane={lanes.get(row.lane)}
              hasLanes={lanes.size > 1}
              isBranch={head.branch !== undefined}
              isSelected={row.label === step}
              onSelect={choose}
            />
          )
        })}
      </div>
      {count === 0 && <Nothing run={run} />}
    </div>
  )
}

/** Scrolls just as far as it must. Knows sizes from the list: asking the page would lay it out each time. */
function bringIntoView(
  { scrollElement, scrollOffset, scrollRect }: Virtualizer<HTMLDivElement, Element>,
  index: number,
): void {
  if (scrollElement === null) return
  const [top, offset] = [index * ROW_HEIGHT, scrollOffset ?? scrollElement.scrollTop]
  const room = (scrollRect?.height ?? scrollElement.clientHeight) - HEADER_HEIGHT
  if (top < offset) scrollElement.scrollTop = top
  else if (top + ROW_HEIGHT > offset + room) scrollElement.scrollTop = top + ROW_HEIGHT - room
}

function ListHeader({ hasLanes }: { readonly hasLanes: boolean }) {
  return (
    <div role="rowgroup" className="sticky top-0 z-10">
      <div
        role="row"
        aria-rowindex={1}
        className="flex h-7 items-center gap-2 border-b border-line bg-raised pr-3 pl-1 text-sm text-muted"
      >
        {HEADED.filter((column) => column !== 'lane' || hasLanes).map((column) => (
          <span
            key={column}
            role="columnheader"
            className={column === 'kind' ? 'w-4 shrink-0' : COLUMNS[column]}
            {...(column === 'kind' && { 'aria-label': 'kind' })}
          >
            {column === 'kind' ? '' : STEP_CELLS[column].heading}
          </span>
        ))}
      </div>
    </div>
  )
}

const HEADED = [
  'label',
  'kind',
  'title',
  'lane',
  'subject',
  'tokens',
  'cost',
  'took',
  'at',
] as const

function Nothing({ run: { rows, head } }: { readonly run: Run }) {
  const text =
    rows.length > 0
      ? 'No step fits the filters.'
      : !rows.isComplete
        ? 'Reading…'
        : head.status === 'recording'
          ? 'No step yet.'
          : 'This run has no steps.'
  return <p className={classes('p-3 text-muted')}>{text}</p>
}
