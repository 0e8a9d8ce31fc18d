import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useHome } from '../sources/viewer-home.js'
import type { Run } from '../run/use-run.js'
import { blameViewOf, type BlameView } from './blame-view.js'

export interface LoadedBlame {
  /** Undefined while it is not known, and when there are no findings. */
  readonly view: BlameView | undefined
  readonly isRead: boolean
  readonly error: Error | null
}

/** What a search for causes came to. While a run goes on there is nothing to search for. */
export function useBlame(run: Run): LoadedBlame {
  const query = useQuery({
    queryKey: ['blame', run.id],
    queryFn: async () => (await run.source.blame()) ?? null,
    enabled: run.head.status !== 'recording',
    // What was told while nobody saw the page is not told again.
    refetchOnWindowFocus: 'always',
  })
  const { data, error } = query
  return {
    view: data === null || data === undefined ? undefined : blameViewOf(data),
    isRead: data !== undefined,
    error,
  }
}

/** Asks again when a search has come to something, or may have while the connection was lost. Once a page. */
export function useBlameNews(run: string): void {
  const home = useHome()
  const client = useQueryClient()
  useEffect(
    () =>
      home.watch((change) => {
        const isNew =
          (change.type === 'blame' && change.run === run) ||
          (change.type === 'connection' && change.state === 'open')
        if (isNew) void client.invalidateQueries({ queryKey: ['blame', run] })
      }),
    [home, client, run],
  )
}
