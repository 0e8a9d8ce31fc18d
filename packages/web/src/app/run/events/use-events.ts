import { useQueries } from '@tanstack/react-query'
import type { EventRow } from '../../../model/run-parts.js'
import type { Run } from '../use-run.js'

const PAGE = 200

/** Events from one place to another, as far as they have been read; those on the screen are asked for. */
export function useEvents(
  { id, source }: Run,
  first: number,
  last: number,
): { readonly eventAt: (seq: number) => EventRow | undefined; readonly error: Error | null } {
  const [from, to] = [Math.floor(Math.max(0, first) / PAGE), Math.floor(Math.max(0, last) / PAGE)]
  const pages = useQueries({
    queries: Array.from({ length: to - from + 1 }, (_, index) => ({
      queryKey: ['events', id, from + index],
      queryFn: () => source.events((from + index) * PAGE, (from + index + 1) * PAGE),
    })),
  })
  return {
    eventAt: (seq) => pages[Math.floor(seq / PAGE) - from]?.data?.[seq % PAGE],
    error: pages.find(({ error }) => error !== null)?.error ?? null,
  }
}
