import { useCallback, useRef, type RefObject } from 'react'

export interface EarlyFocus {
  /** `ref` of the field. */
  readonly take: (field: HTMLElement | null) => void
  /** For `finalFocus` of the dialog. */
  readonly back: RefObject<HTMLElement | null>
}

/**
 * Gives a field of a dialog the focus as soon as it is there. The dialog itself would do
 * so a frame later, and the first letter of somebody who types fast would be lost. What
 * had the focus before gets it back from the dialog.
 */
export function useEarlyFocus(): EarlyFocus {
  const back = useRef<HTMLElement>(null)
  const take = useCallback((field: HTMLElement | null): void => {
    if (field === null) return
    back.current = document.activeElement instanceof HTMLElement ? document.activeElement : null
    field.focus()
  }, [])
  return { take, back }
}
