import { useEffect, useSyncExternalStore } from 'react'
import type { Run } from '../run/use-run.js'

/** The run that the page on the screen is about; the palette and search find its steps. */
let open: Run | undefined
const listeners = new Set<() => void>()

function offer(run: Run | undefined): void {
  if (run === open) return
  open = run
  for (const listener of listeners) listener()
}

/** Says which run a page is about, as long as the page is there. */
export function useOfferedRun(run: Run | undefined): void {
  useEffect(() => {
    if (run !== undefined) offer(run)
  }, [run])
  useEffect(() => () => offer(undefined), [])
}

export const useOpenRun = (): Run | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => open,
  )
