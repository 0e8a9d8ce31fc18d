/* oxlint-disable jsx-a11y/prefer-tag-over-role -- absolutely positioned rows cannot be table rows */

import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { type ComponentProps, type KeyboardEvent, type ReactNode, useId, useRef } from 'react'
import { classes } from '../design/classes.js'

const HEADER_HEIGHT = 28

export interface ListMoves {
  /** Moves by a number of rows, or to the start or end. */
  readonly onMove: (by: number | 'first' | 'last') => void
  readonly onOpen: () => void
}

export function useGrid(count: number, rowHeight: number) {
  const scroller = useRef<HTMLDivElement>(null)
  const id = useId()
  const list = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  })
  return { id, count, rowHeight, scroller, list, items: list.getVirtualItems() }
}

interface GridProps extends ListMoves {
  readonly label: string
  readonly grid: ReturnType<typeof useGrid>
  readonly columns: readonly {
    readonly heading: string
    readonly className: string
    /** Accessible name of a heading without text. */
    readonly label?: string
  }[]
  /** The selected row, and the suffix of its element id. */
  readonly selected: { readonly index: number; readonly key: string | number | undefined }
  readonly note?: ReactNode
  readonly empty?: ReactNode
  readonly onScroll?: () => void
  readonly renderRow: (index: number, top: number) => ReactNode
}

/** The grid itself has the focus and refers to the selected row. */
export function Grid(props: GridProps) {
  const { label, grid, columns, selected, note, empty, onScroll, renderRow } = props
  const { onMove, onOpen } = props
  const { id, count, scroller, list, items } = grid
  const isSelectedDrawn = items.some(({ index }) => index === selected.index)
  const press = (event: KeyboardEvent): void => {
    // Number of visible rows, less two for context.
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / grid.rowHeight) - 2)
    const moves: Record<string, () => void> = {
      ArrowDown: () => onMove(1),
      ArrowUp: () => onMove(-1),
      PageDown: () => onMove(page),
      PageUp: () => onMove(-page),
      Home: () => onMove('first'),
      End: () => onMove('last'),
      Enter: onOpen,
    }
    const move = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key]
    if (move === undefined) return
    event.preventDefault()
    move()
  }
  return (
    <div
      ref={scroller}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={count + 1}
      aria-activedescendant={isSelectedDrawn ? `${id}-${selected.key}` : undefined}
      className="@container relative h-full overflow-auto"
      onKeyDown={press}
      onScroll={onScroll}
    >
      <div role="rowgroup" className="sticky top-0 z-10">
        <div
          role="row"
          aria-rowindex={1}
          className="flex h-7 items-center gap-2 border-b border-line bg-raised pr-3 pl-1 text-sm text-muted"
        >
          {columns.map(({ heading, className, label: name }) => (
            <span key={className} role="columnheader" className={`${className} font-sans text-sm`}>
              {heading || <span className="sr-only">{name}</span>}
            </span>
          ))}
        </div>
      </div>
      {note}
      <div role="rowgroup" className="relative" style={{ height: list.getTotalSize() }}>
        {items.map(({ index, start }) => renderRow(index, start))}
      </div>
      {count === 0 && empty}
    </div>
  )
}

interface GridRowProps extends ComponentProps<'div'> {
  /** From 0, not counting the header. */
  readonly index: number
  readonly top: number
  readonly height: number
  readonly isSelected: boolean
}

export const GridRow = ({ index, top, height, isSelected, className, ...rest }: GridRowProps) => (
  // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the grid handles focus and keys
  <div
    role="row"
    aria-rowindex={index + 2}
    aria-selected={isSelected}
    style={{ top, height }}
    className={classes(
      'absolute inset-x-0 flex cursor-default items-center gap-2 pr-3 pl-1 select-none',
      isSelected ? 'bg-accent-soft shadow-[inset_2px_0_0_var(--accent)]' : 'hover:bg-raised',
      className,
    )}
    {...rest}
  />
)

export const Cell = (props: ComponentProps<'span'>) => <span role="gridcell" {...props} />

/** Scrolls as little as possible. Uses known sizes, because measuring would force a layout. */
export function bringRowIntoView(
  { scrollElement, scrollOffset, scrollRect }: Virtualizer<HTMLDivElement, Element>,
  index: number,
  rowHeight: number,
): void {
  if (scrollElement === null) return
  const [top, offset] = [index * rowHeight, scrollOffset ?? scrollElement.scrollTop]
  const room = (scrollRect?.height ?? scrollElement.clientHeight) - HEADER_HEIGHT
  // Center a row that is far away.
  if (top < offset - room || top > offset + 2 * room)
    scrollElement.scrollTop = Math.max(0, top - room / 2)
  else if (top < offset) scrollElement.scrollTop = top
  else if (top + rowHeight > offset + room) scrollElement.scrollTop = top + rowHeight - room
}
