import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { RunHead } from '../../model/run-head.js'
import type { RunSource } from '../../model/run-source.js'
import { useHome } from '../sources/viewer-home.js'
import { RowStore } from './row-store.js'

/** One open run: where it is asked, what is small about it, and its rows as they arrive. */
export interface Run {
  readonly id: string
  readonly source: RunSource
  readonly head: RunHead
  readonly rows: RowStore
}

/** The head of a run, and its rows, kept up to date while it is recorded. For one run only: draw with its id as key. */
export function useRun(id: string): { run: Run | undefined; error: Error | null } {
  const home = useHome()
  const client = useQueryClient()
  const source = useMemo(() => home.run(id), [home, id])
  const [rows] = useState(() => new RowStore())
  const head = useQuery({ queryKey: ['run', id], queryFn: () => source.head() })

  useEffect(() => {
    const giveUp = new AbortController()
    let from = 0
    const read = async (): Promise<void> => {
      for await (const message of source.rows({ from, signal: giveUp.signal })) rows.add(message)
    }
    let reading = read().catch(() => {})
    const unwatch = home.watch((change) => {
      if (change.type !== 'grew' || change.run !== id) return
      void client.invalidateQueries({ queryKey: ['run', id] })
      reading = reading.then(() => {
        from = firstOpen(rows)
        return read().catch(() => {})
      })
    })
    return () => {
      giveUp.abort()
      unwatch()
    }
  }, [home, id, source, rows, client])

  const run = head.data && { id, source, head: head.data, rows }
  return { run, error: head.error }
}

/** Draws a component again whenever rows come. */
export const useRows = (rows: RowStore): number =>
  useSyncExternalStore(rows.subscribe, rows.getVersion)

/** The first recorded row that may still change. */
function firstOpen(rows: RowStore): number {
  let recorded = 0
  for (let place = 0; place < rows.length; place++) {
    const row = rows.at(place)
    if (row.inferred) continue
    if (row.state === 'running') return recorded
    recorded += 1
  }
  return recorded
}
