import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useHome } from '../sources/viewer-home.js'

/** Runs that grow are asked for again no more often than this. */
const PAUSE_MS = 1000

/** All runs of the home, newest first, kept up to date. */
export function useRuns() {
  const home = useHome()
  const client = useQueryClient()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const readAgain = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined
        void client.invalidateQueries({ queryKey: ['runs'] })
      }, PAUSE_MS)
    }
    const unwatch = home.watch((change) => {
      const isBack = change.type === 'connection' && change.state === 'open'
      if (change.type === 'runs' || change.type === 'gone')
        void client.invalidateQueries({ queryKey: ['runs'] })
      else if (change.type === 'grew' || isBack) readAgain()
    })
    return () => {
      clearTimeout(timer)
      unwatch()
    }
  }, [home, client])
  return useQuery({ queryKey: ['runs'], queryFn: () => home.runs(), refetchOnMount: 'always' })
}

/** The time, every half minute. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [])
  return now
}
