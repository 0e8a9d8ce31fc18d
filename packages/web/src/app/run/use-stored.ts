import { useCallback, useState } from 'react'

/**
 * A size or choice that this browser remembers. A page opened from disk may have
 * nowhere to keep it: then it holds until the page is closed.
 */
export function useStored<T extends number | boolean | string>(
  name: string,
  initial: T,
): readonly [T, (value: T) => void] {
  const [value, setValue] = useState(() => read(name, initial))
  const store = useCallback(
    (next: T) => {
      setValue(next)
      try {
        localStorage.setItem(`retake.${name}`, JSON.stringify(next))
      } catch {
        // No storage here, or it is full.
      }
    },
    [name],
  )
  return [value, store]
}

function read<T>(name: string, initial: T): T {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(`retake.${name}`) ?? 'null')
    return typeof stored === typeof initial ? (stored as T) : initial
  } catch {
    return initial
  }
}
