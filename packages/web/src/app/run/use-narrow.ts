import { useSyncExternalStore } from 'react'

const query = typeof matchMedia === 'function' ? matchMedia('(max-width: 640px)') : undefined

const subscribe = (listener: () => void): (() => void) => {
  query?.addEventListener('change', listener)
  return () => query?.removeEventListener('change', listener)
}

/** Whether there is room for one column only. */
export const useNarrow = (): boolean =>
  useSyncExternalStore(subscribe, () => query?.matches ?? false)
