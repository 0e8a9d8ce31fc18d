import { useEffect } from 'react'
import { Store, useStore } from '../../design/store.js'
import type { Run } from './use-run.js'

/** The run of the current page, whose steps the palette and search find. */
const openRun = new Store<Run | undefined>(undefined)

export function useOfferedRun(run: Run | undefined): void {
  useEffect(() => {
    if (run !== undefined) openRun.set(run)
  }, [run])
  useEffect(() => () => openRun.set(undefined), [])
}

export const useOpenRun = (): Run | undefined => useStore(openRun)
