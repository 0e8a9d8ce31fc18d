import { useQuery } from '@tanstack/react-query'
import { ErrorNote } from '../../design/error-note.js'
import type { Run } from '../use-run.js'

/** One event whole, as it stands on the tape; long strings are cut where they say so. */
export function EventPanel({
  run,
  event,
}: {
  readonly run: Run
  readonly event: number | undefined
}) {
  const detail = useQuery({
    queryKey: ['event', run.id, event],
    queryFn: async () => (await run.source.event(event ?? 0)) ?? null,
    enabled: event !== undefined,
  })
  if (event === undefined) return <p className="p-4 text-muted">Choose an event to see it whole.</p>
  if (detail.error !== null)
    return (
      <div className="p-3">
        <ErrorNote error={detail.error} />
      </div>
    )
  return (
    <div className="flex min-w-0 flex-1 flex-col">
      <h2 className="shrink-0 border-b border-line px-3 py-1.5 text-sm text-muted">
        Event {event}
      </h2>
      <pre
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard
        tabIndex={0}
        className="min-h-0 flex-1 overflow-auto p-3 font-mono text-sm wrap-anywhere whitespace-pre-wrap"
      >
        {detail.data === undefined ? 'Reading…' : JSON.stringify(detail.data, undefined, 2)}
      </pre>
    </div>
  )
}
