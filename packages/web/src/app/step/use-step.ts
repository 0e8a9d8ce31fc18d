import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { StepDetail } from '../../model/step-detail.js'
import { useRows, type Run } from '../run/use-run.js'

export interface LoadedStep {
  readonly detail: StepDetail | undefined
  /** `detail` is of the step before; this one is on its way. */
  readonly isOld: boolean
  /** There is no such step. */
  readonly isGone: boolean
  readonly error: Error | null
}

/**
 * The step with this label. The last one stays while the next is on its way, and the
 * neighbours are fetched before anybody asks.
 */
export function useStep(run: Run, label: string | undefined): LoadedStep {
  useRows(run.rows)
  const client = useQueryClient()
  const query = useQuery({
    ...stepQuery(run, label ?? ''),
    enabled: label !== undefined,
    placeholderData: keepPreviousData,
  })
  const place = label === undefined ? -1 : run.rows.placeOf(label)
  const isSettled = !query.isPlaceholderData && query.data !== undefined
  useEffect(() => {
    if (place < 0 || !isSettled) return
    for (const next of [place + 1, place - 1]) {
      if (next < 0 || next >= run.rows.length) continue
      void client.prefetchQuery(stepQuery(run, run.rows.at(next).label))
    }
  }, [client, run, place, isSettled])
  return {
    detail: query.data ?? undefined,
    isOld: query.isPlaceholderData && query.data?.label !== label,
    isGone: query.data === null && !query.isPlaceholderData,
    error: query.error,
  }
}

/** A step that goes on is asked for again whenever its run has grown. */
function stepQuery(run: Run, label: string) {
  const place = run.rows.placeOf(label)
  const isRunning = place >= 0 && run.rows.at(place).state === 'running'
  return queryOptions({
    queryKey: ['step', run.id, label, isRunning ? run.head.events : 'settled'],
    queryFn: async () => (await run.source.step(label)) ?? null,
    gcTime: 60_000,
  })
}
