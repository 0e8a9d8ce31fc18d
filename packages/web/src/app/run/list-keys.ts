import { type KeyboardEvent as ReactKeyboardEvent, useEffect, useRef } from 'react'

export interface ListMoves {
  /** Relative, or to either end of the list. */
  readonly onMove: (by: number | 'first' | 'last') => void
  readonly onOpen: () => void
}

/** Keys of a list that has the focus itself. `page` is the number of visible rows. */
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

/** Visible rows, less two for context. */
export const pageOf = (scroller: HTMLElement | null, rowHeight: number): number =>
  Math.max(1, Math.floor((scroller?.clientHeight ?? 0) / rowHeight) - 2)

/** True while a key is repeating: such moves do not deserve history entries. */
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
