import type { BlamedStep } from '@retake/tape'
import { count, STEP_CELLS, type StepRow } from '@retake/tape/present'
import { memo, useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'
import type { LaneHead } from '../../model/run-source.js'
import { isSeen } from '../blame/blame-view.js'
import { RoleName } from '../blame/role-mark.js'
import { useBlame } from '../blame/use-blame.js'
import { StepStateBadge, useWaiting } from '../change/waiting-approvals.js'
import { Badge, KindMark, OriginBadge } from '../design/badge.js'
import { classes } from '../design/classes.js'
import { bringRowIntoView, Cell, Grid, GridRow, type ListMoves, useGrid } from './grid.js'
import type { FilteredRows } from './data/row-filter.js'
import { laneName } from './data/row-store.js'
import type { Run } from './data/use-run.js'
import { useStore } from '../design/store.js'
import { followedRun, useSelection } from './data/use-selection.js'

const ROW_HEIGHT = 28

/** Column widths, and the minimum list width for each column. */
const COLUMNS = {
  label: 'w-11 shrink-0 text-right',
  kind: 'w-4 shrink-0',
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
  readonly blamed: BlamedStep | undefined
  readonly id: string
  readonly index: number
  readonly top: number
  readonly lane: LaneHead | undefined
  readonly hasLanes: boolean
  readonly isBranch: boolean
  readonly isWaiting: boolean
  readonly isSelected: boolean
  readonly onSelect: (label: string) => void
}

const StepListRow = memo(function StepListRow(props: StepListRowProps) {
  const { row, blamed, lane, hasLanes, isBranch, isWaiting, onSelect, ...rest } = props
  const cell = (column: keyof typeof STEP_CELLS & keyof typeof COLUMNS, look: string) => (
    <Cell
      className={classes(COLUMNS[column], look)}
      title={
        column === 'tokens' && row.tokensIn !== undefined
          ? `${count(row.tokensIn)} tokens in, ${count(row.tokensOut ?? 0)} out`
          : undefined
      }
    >
      {STEP_CELLS[column].text(row) ?? <span className="text-muted">unknown</span>}
    </Cell>
  )
  return (
    <GridRow
      {...rest}
      height={ROW_HEIGHT}
      data-step={row.label}
      className={
        row.state === 'failed' && !rest.isSelected
          ? 'shadow-[inset_2px_0_0_var(--danger)]'
          : undefined
      }
      onClick={() => onSelect(row.label)}
    >
      <Cell className={classes(COLUMNS.label, 'font-mono text-sm text-muted')}>{row.label}</Cell>
      <Cell className="flex shrink-0">
        <KindMark kind={row.kind} />
      </Cell>
      <Cell className={classes(COLUMNS.title, 'flex items-center gap-2')}>
        {Array.from({ length: Math.min(lane?.depth ?? 0, 8) }, (_, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- rails have no other identity
          <span key={index} className="-my-px h-7 w-2 shrink-0 border-r border-line" />
        ))}
        <span className="min-w-0 truncate" title={row.error ?? row.title}>
          {row.title}
        </span>
        <span className="ml-auto flex shrink-0 items-center gap-1.5">
          {blamed && isSeen(blamed.role) && (
            <RoleName role={blamed.role} intervention={blamed.intervention} />
          )}
          <StepStateBadge state={row.state} isWaiting={isWaiting} />
          {row.inferred && (
            <Badge title="Inferred from the conversation: the call itself was not recorded.">
              inferred
            </Badge>
          )}
          {isBranch && !row.inferred && <OriginBadge origin={row.origin} />}
        </span>
      </Cell>
      {hasLanes && (
        <Cell className={classes(COLUMNS.lane, 'text-muted')}>
          {laneName(row.lane, lane?.name)}
        </Cell>
      )}
      {cell('subject', 'text-muted')}
      {cell('tokens', 'font-mono text-sm')}
      {cell('cost', 'font-mono text-sm')}
      {cell('took', 'font-mono text-sm')}
      {cell('at', 'font-mono text-sm text-muted')}
    </GridRow>
  )
})

interface StepListProps extends ListMoves {
  readonly run: Run
  readonly shown: FilteredRows
}

/** While the run is recorded, the list follows its end unless the user scrolls away. */
export function StepList({ run, shown, ...moves }: StepListProps) {
  const { head, rows } = run
  const { step, select } = useSelection()
  const { view: blame } = useBlame(run)
  const isFollowing = useStore(followedRun) === run.id
  const lanes = useMemo(() => new Map(head.lanes.map((lane) => [lane.id, lane])), [head.lanes])
  const count = shown.length
  const grid = useGrid(count, ROW_HEIGHT)
  const { id, scroller, list } = grid

  const [isAtEnd, setAtEnd] = useState(
    head.status === 'recording' && (step === undefined || isFollowing),
  )
  const position = step === undefined ? -1 : rows.indexOf(step)
  const index = position >= 0 && shown.has(position) ? shown.indexFrom(position) : -1
  const isAway = isFollowing && !isAtEnd
  useEffect(() => {
    // Runs when the selection changes or moves, not when the user scrolls.
    if (index >= 0 && !isAway) bringRowIntoView(list, index, ROW_HEIGHT)
  }, [index, step, list, isAway])
  const near = position < 0 ? 0 : shown.indexFrom(position)
  const showNear = useEffectEvent(() => bringRowIntoView(list, near, ROW_HEIGHT))
  // After a filter change, show the selected row or the next one.
  useEffect(() => showNear(), [shown])

  useEffect(() => {
    if (isAtEnd && head.status === 'recording')
      scroller.current?.scrollTo({ top: count * ROW_HEIGHT })
  }, [scroller, isAtEnd, head.status, count])
  const lastTop = useRef(0)
  const scrolled = (): void => {
    const { current } = scroller
    if (current === null || head.status !== 'recording') return
    const { scrollTop, scrollHeight, clientHeight } = current
    const isUp = scrollTop < lastTop.current
    lastTop.current = scrollTop
    // Scrolling up stops following; new rows below do not.
    if (scrollHeight - scrollTop - clientHeight < 2 * ROW_HEIGHT) setAtEnd(true)
    else if (isUp) setAtEnd(false)
  }

  const choose = useCallback((label: string) => select(label), [select])
  const hasLanes = lanes.size > 1
  const isWaiting = useWaiting(run.id)
  return (
    <Grid
      {...moves}
      label="Steps"
      grid={grid}
      columns={hasLanes ? HEADED : HEADED.filter(({ heading }) => heading !== 'lane')}
      selected={{ index, key: step }}
      empty={<p className="p-3 text-muted">{emptyText(run)}</p>}
      onScroll={scrolled}
      renderRow={(at, top) => {
        const row = rows.at(shown.rowAt(at))
        return (
          <StepListRow
            key={row.label}
            id={`${id}-${row.label}`}
            row={row}
            blamed={blame?.step(row.label)}
            index={at}
            top={top}
            lane={lanes.get(row.lane)}
            hasLanes={hasLanes}
            isBranch={head.branch !== undefined}
            isWaiting={isWaiting(row)}
            isSelected={row.label === step}
            onSelect={choose}
          />
        )
      }}
    />
  )
}

const HEADED = Object.entries(COLUMNS).map(([name, className]) =>
  name === 'kind' || name === 'title'
    ? { heading: '', label: name, className }
    : { heading: STEP_CELLS[name as keyof typeof STEP_CELLS].heading, className },
)

function emptyText({ rows, head }: Run): string {
  if (rows.length > 0) return 'No step matches the filters.'
  if (!rows.isComplete) return 'Reading…'
  return head.status === 'recording' ? 'No step yet.' : 'This run has no steps.'
}
