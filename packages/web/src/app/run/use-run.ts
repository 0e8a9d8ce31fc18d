import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { RunHead } from '../../model/run-head.js'
import type { RunSource } from '../../model/run-source.js'
import { useBackend } from '../sources/backend.js'
import { useStore } from '../store.js'
import type { RowStore } from './row-store.js'
import { type Reading, RunReader } from './run-reader.js'

export interface Run {
  readonly id: string
  readonly source: RunSource
  readonly head: RunHead
  readonly rows: RowStore
}

/**
 * The head and rows of a run, updated while it is recorded. For one run only: use its id as
 * React key. Queries whose key contains the id are refetched when it grows.
 */
export function useRun(id: string): { run: Run | undefined; reading: Reading } {
  const backend = useBackend()
  const client = useQueryClient()
  const [reader] = useState(
    () =>
      new RunReader(
        backend,
        id,
        () => void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(id) }),
      ),
  )
  useEffect(() => reader.start(), [reader])
  const reading = useStore(reader)
  const { head } = reading
  const { source, rows } = reader
  const run = useMemo(() => head && { id, source, head, rows }, [id, source, head, rows])
  return { run, reading }
}

/** Renders at most once per frame when rows arrive. */
export function useRows(rows: RowStore): number {
  const subscribe = useCallback(
    (listener: () => void) => {
      let frame = 0
      const unsubscribe = rows.subscribe(() => {
        if (frame !== 0) return
        frame = requestAnimationFrame(() => {
          frame = 0
          listener()
        })
      })
      return () => {
        unsubscribe()
        cancelAnimationFrame(frame)
      }
    },
    [rows],
  )
  return useSyncExternalStore(subscribe, rows.get)
}
