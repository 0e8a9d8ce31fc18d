/* oxlint-disable jsx-a11y/prefer-tag-over-role -- rows that are placed by hand cannot be those of a table */
import type { StepRole } from '@retake/tape'
import { memo } from 'react'
import { STEP_CELLS, count, type StepRow } from '@retake/tape/present'
import type { LaneHead } from '../../model/run-head.js'
import { classes } from '../design/classes.js'
import { KindMark } from '../design/kind-mark.js'
import { laneName } from './lane-name.js'
import { RowBadges } from './row-badges.js'

export const ROW_HEIGHT = 28

/** Widths of the columns, and from which width of the list on they are shown. */
export const COLUMNS = {
  label: 'w-11 shrink-0 text-right',
  title: 'min-w-0 flex-1',
  lane: 'hidden w-28 shrink-0 truncate @min-[920px]:block',
  subject: 'hidden w-36 shrink-0 truncate @min-[800px]:block',
  tokens: 'hidden w-24 shrink-0 text-right @min-[660px]:block',
  cost: 'hidden w-17 shrink-0 text-right @min-[580px]:block',
  took: 'hidden w-15 shrink-0 text-right @min-[340px]:block',
  at: 'hidden w-17 shrink-0 text-right @min-[480px]:block',
} as const

export interface StepListRowProps {
  readonly row: StepRow
  readonly role: StepRole | undefined
  readonly id: string
  /** Counted from 1, after the row of titles. */
  readonly rowIndex: number
  readonly top: number
  readonly lane: LaneHead | undefined
  readonly hasLanes: boolean
  readonly isBranch: boolean
  readonly isSelected: boolean
  readonly onSelect: (label: string) => void
}

/** One step in the list. */
export const StepListRow = memo(function StepListRow(props: StepListRowProps) {
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
