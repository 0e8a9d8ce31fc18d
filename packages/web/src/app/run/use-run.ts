import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { RunHead } from '../../model/run-head.js'
import type { RunSource } from '../../model/run-source.js'
import { useBackend } from '../sources/viewer-home.js'
import type { RowStore } from './row-store.js'
import { RunReader, type Reading } from './run-reader.js'

/** One open run: where it is asked, what is small about it, and its rows as they arrive. */
export interface Run {
  readonly id: string
  readonly source: RunSource
  readonly head: RunHead
  readonly rows: RowStore
}

/**
 * The head of a run, and its rows, kept up to date while it is recorded. For one run
 * only: draw with its id as key. Whatever else was asked about the run under a key
 * that holds its id is asked again when it has grown.
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
  const reading = useSyncExternalStore(reader.subscribe, reader.getReading)
  const { head } = reading
  const { source, rows } = reader
  const run = useMemo(() => head && { id, source, head, rows }, [id, source, head, rows])
  return { run, reading }
}

/** Draws a component again when rows have come, once a frame at most. */
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
  return useSyncExternalStore(subscribe, rows.getVersion)
}
