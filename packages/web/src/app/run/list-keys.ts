import type { KeyboardEvent } from 'react'

export interface ListMoves {
  /** Goes to another row of the list, by how many or to its very end. */
  readonly onMove: (by: number | 'first' | 'last') => void
  readonly onOpen: () => void
}

/** What the keys of a list do that has the focus itself. `page` is how many rows are seen at once. */
export function pressInList(
  event: KeyboardEvent,
  { onMove, onOpen }: ListMoves,
  page: number,
): void {
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

/** Rows that fit into what is seen of a list, but for two that stay in sight. */
export const pageOf = (scroller: HTMLElement | null, rowHeight: number): number =>
  Math.max(1, Math.floor((scroller?.clientHeight ?? 0) / rowHeight) - 2)
