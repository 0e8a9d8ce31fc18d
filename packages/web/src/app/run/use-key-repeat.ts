import { useEffect, useRef } from 'react'

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
