/* oxlint-disable jsx-a11y/prefer-tag-over-role -- rows that are placed by hand cannot be those of a table */
import type { StepRole } from '@retake/tape'
import { count, STEP_CELLS, type StepRow } from '@retake/tape/present'
import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { memo, useCallback, useEffect, useId, useMemo, useRef, useState } from 'react'
import type { LaneHead } from '../../model/run-head.js'
import { isSeen } from '../blame/blame-view.js'
import { RoleName } from '../blame/role-mark.js'
import { useBlame } from '../blame/use-blame.js'
import { Badge, KindMark, OriginBadge, StateBadge } from '../design/badge.js'
import { classes } from '../design/classes.js'
import { type ListMoves, pageOf, pressInList } from './list-keys.js'
import type { FilteredRows } from './row-filter.js'
import { laneName } from './row-store.js'
import type { Run } from './use-run.js'
import { useSelection } from './use-selection.js'

/* oxlint-disable jsx-a11y/prefer-tag-over-role -- rows that are placed by hand cannot be those of a table */

const ROW_HEIGHT = 28

/** Column widths, and the list width from which each is shown. */
const COLUMNS = {
  label: 'w-11 shrink-0 text-right',
  title: 'min-w-0 flex-1',
  lane: 'hidden w-28 shrink-0 truncate @min-[920px]:block',
  subject: 'hidden w-36 shrink-0 truncate @min-[800px]:block',
  tokens: 'hidden w-24 shrink-0 text-right @min-[660px]:block',
  cost: 'hidden w-17 shrink-0 text-right @min-[580px]:block',
  took: 'hidden w-15 shrink-0 text-right @min-[340px]:block',
  at: 'hidden w-17 shrink-0 text-right @min-[480px]:block',
} as const

interface StepListRowProps {
  readonly row: StepRow
  readonly role: StepRole | undefined
  readonly id: string
  /** From 1, after the header row. */
  readonly rowIndex: number
  readonly top: number
  readonly lane: LaneHead | undefined
  readonly hasLanes: boolean
  readonly isBranch: boolean
  readonly isSelected: boolean
  readonly onSelect: (label: string) => void
}

const StepListRow = memo(function StepListRow(props: StepListRowProps) {
  const { row, lane, isSelected } = props
  const depth = Math.min(lane?.depth ?? 0, 8)
  const cell = (column: 'subject' | 'cost' | 'took' | 'at', look: string) => (
    <span role="gridcell" className={classes(COLUMNS[column], look)}>
      {STEP_CELLS[column].text(row) ?? UNKNOWN}
    </span>
  )
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the grid has the focus and the keys
    <div
      role="row"
      id={props.id}
      aria-rowindex={props.rowIndex + 1}
      aria-selected={isSelected}
      data-step={row.label}
      style={{ top: props.top, height: ROW_HEIGHT }}
      className={classes(
        'absolute inset-x-0 flex cursor-default items-center gap-2 pr-3 pl-1 select-none',
        isSelected
          ? 'bg-accent-soft shadow-[inset_2px_0_0_var(--accent)]'
          : row.state === 'failed'
            ? 'shadow-[inset_2px_0_0_var(--danger)] hover:bg-raised'
            : 'hover:bg-raised',
      )}
      onClick={() => props.onSelect(row.label)}
    >
      <span role="gridcell" className={classes(COLUMNS.label, 'font-mono text-sm text-muted')}>
        {row.label}
      </span>
      <span role="gridcell" className="flex shrink-0">
        <KindMark kind={row.kind} />
      </span>
      <span role="gridcell" className={classes(COLUMNS.title, 'flex items-center gap-2')}>
        {Array.from({ length: depth }, (_, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- rails have no other identity
          <span key={index} className="-my-px h-7 w-2 shrink-0 border-r border-line" />
        ))}
        <span className="min-w-0 truncate" title={row.error ?? row.title}>
          {row.title}
        </span>
        <span className="ml-auto flex shrink-0 items-center gap-1.5">
          <RowBadges row={row} role={props.role} isBranch={props.isBranch} />
        </span>
      </span>
      {props.hasLanes && (
        <span role="gridcell" className={classes(COLUMNS.lane, 'text-muted')}>
          {laneName(row.lane, lane?.name)}
        </span>
      )}
      {cell('subject', 'text-muted')}
      <span
        role="gridcell"
        className={classes(COLUMNS.tokens, 'font-mono text-sm')}
        title={tokensTitle(row)}
      >
        {STEP_CELLS.tokens.text(row) ?? UNKNOWN}
      </span>
      {cell('cost', 'font-mono text-sm')}
      {cell('took', 'font-mono text-sm')}
      {cell('at', 'font-mono text-sm text-muted')}
    </div>
  )
})

const tokensTitle = ({ tokensIn, tokensOut }: StepRow): string | undefined =>
  tokensIn === undefined ? undefined : `${count(tokensIn)} tokens in, ${count(tokensOut ?? 0)} out`

const UNKNOWN = <span className="text-muted">unknown</span>

interface RowBadgesProps {
  readonly row: StepRow
  readonly role: StepRole | undefined
  readonly isBranch: boolean
}

const RowBadges = ({ row, role, isBranch }: RowBadgesProps) => (
  <>
    {isSeen(role) && <RoleName role={role} />}
    <StateBadge state={row.state} />
    {row.inferred && (
      <Badge title="Inferred from the conversation: not recorded as a call of its own.">
        inferred
      </Badge>
    )}
    {isBranch && !row.inferred && <OriginBadge origin={row.origin} />}
  </>
)

const HEADER_HEIGHT = 28

export interface StepListProps extends ListMoves {
  readonly run: Run
  readonly shown: FilteredRows
}

/**
 * Virtualised. The grid has the focus and names the selected row. While the run is recorded it
 * follows the end, unless the user scrolls away.
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

  const position = step === undefined ? -1 : rows.indexOf(step)
  const index = position >= 0 && shown.has(position) ? shown.indexFrom(position) : -1
  useEffect(() => {
    // Only when the selection changes or moves, not when the user scrolls.
    if (index >= 0) bringIntoView(list, index)
  }, [index, step, list])
  const near = position < 0 ? 0 : shown.indexFrom(position)
  const latestNear = useRef(near)
  useEffect(() => {
    latestNear.current = near
  })
  useEffect(() => {
    // After a filter change, show the selected row or the next one.
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
    // New rows below do not stop following; scrolling up does.
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
          const row = rows.at(shown.rowAt(item.index))
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

/** Scrolls as little as possible. Uses known sizes: measuring would force a layout. */
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

const ListHeader = ({ hasLanes }: { hasLanes: boolean }) => (
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

function Nothing({ run: { rows, head } }: { run: Run }) {
  const text =
    rows.length > 0
      ? 'No step matches the filters.'
      : !rows.isComplete
        ? 'Reading…'
        : head.status === 'recording'
          ? 'No step yet.'
          : 'This run has no steps.'
  return <p className={classes('p-3 text-muted')}>{text}</p>
}
