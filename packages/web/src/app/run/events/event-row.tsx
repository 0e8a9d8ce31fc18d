/* oxlint-disable jsx-a11y/prefer-tag-over-role -- rows that are placed by hand cannot be those of a table */
import { memo } from 'react'
import { clock, count } from '@retake/tape/present'
import type { EventRow as Event } from '../../../model/run-parts.js'
import { classes } from '../../design/classes.js'

export const EVENT_HEIGHT = 24

export const EVENT_COLUMNS = {
  seq: 'w-14 shrink-0 text-right font-mono text-sm text-muted',
  type: 'w-20 shrink-0 truncate',
  text: 'min-w-0 flex-1 truncate',
  bytes: 'hidden w-18 shrink-0 text-right font-mono text-sm text-muted @min-[420px]:block',
  at: 'hidden w-17 shrink-0 text-right font-mono text-sm text-muted @min-[480px]:block',
} as const

export interface EventRowProps {
  readonly id: string
  readonly seq: number
  /** Undefined while it is read. */
  readonly event: Event | undefined
  readonly top: number
  readonly isSelected: boolean
  readonly onSelect: (seq: number) => void
}

/** One event of the tape in the list. */
export const EventRow = memo(function EventRow(props: EventRowProps) {
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
