import { type KeyboardEvent as ReactKeyboardEvent, useEffect, useRef } from 'react'

export interface ListMoves {
  /** Goes to another row of the list, by how many or to its very end. */
  readonly onMove: (by: number | 'first' | 'last') => void
  readonly onOpen: () => void
}

/** What the keys of a list do that has the focus itself. `page` is how many rows are seen at once. */
export function pressInList(
  event: ReactKeyboardEvent,
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

/** Whether the key that is pressed now is held down: such moves are not worth a place in the history. */
export function useKeyRepeat(): { readonly current: boolean } {
  const isRepeating = useRef(false)
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      isRepeating.current = event.repeat
    }
    const released = (): void => {
      isRepeating.current = false
    }
    addEventListener('keydown', pressed, { capture: true })
    addEventListener('keyup', released, { capture: true })
    return () => {
      removeEventListener('keydown', pressed, { capture: true })
      removeEventListener('keyup', released, { capture: true })
    }
  }, [])
  return isRepeating
}
