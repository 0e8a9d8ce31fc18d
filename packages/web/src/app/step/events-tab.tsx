import { clock, plural, bytesText } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { EventRow, RunSource, StepDetail } from '../../model/run-source.js'
import { TextButton } from '../design/button.js'
import { QueryNote } from '../design/notes.js'
import type { Run } from '../run/data/use-run.js'
import { EventFold, fieldMoment, type TabProps } from '../values/field.js'
import { JsonTree } from '../values/json-tree.js'
import { VisibleText } from '../values/text.js'

const BATCH = 2000

/** The events that begin and answer a step. Reads at most `limit` events. */
async function readEventsOf(
  source: Pick<RunSource, 'events'>,
  detail: Pick<StepDetail, 'seq' | 'answeredSeq'>,
  limit: number,
) {
  const end = fieldMoment(detail) + 1
  const stop = Math.min(end, detail.seq + limit)
  const rows: EventRow[] = []
  for (let from = detail.seq; from < stop; from += BATCH) {
    const batch = await source.events(from, Math.min(from + BATCH, stop))
    rows.push(...batch.filter(({ seq, op }) => seq === detail.seq || op === detail.seq))
  }
  /** `next`: where to continue. */
  return { rows, next: stop < end ? stop : undefined }
}

export function EventsTab({ run, detail }: TabProps) {
  const [requested, setRequested] = useState(20_000)
  const events = useQuery({
    queryKey: ['events', run.id, detail.label, fieldMoment(detail), requested],
    queryFn: () => readEventsOf(run.source, detail, requested),
  })
  if (detail.inferred)
    return (
      <p className="p-3 text-muted">
        This step has no events: it appears only in the conversation.
      </p>
    )
  if (events.data === undefined) return <QueryNote what="the events" error={events.error} />
  const { rows, next } = events.data
  return (
    <div className="p-3">
      <p className="mb-1 text-sm text-muted">
        {plural(rows.length, 'event')} of this step
        {next !== undefined && ` before event ${next}; there may be more`}
      </p>
      <ol className="divide-y divide-line border-y border-line">
        {rows.map(({ seq, at, type, text, bytes }) => (
          <EventFold
            key={seq}
            path={`event.${seq}`}
            title={
              <>
                <span className="w-12 shrink-0 text-right text-muted">{seq}</span>
                <span className="w-18 shrink-0 text-right text-muted">{clock(at)}</span>
                <span className="w-16 shrink-0">{type}</span>
                <VisibleText text={text} className="min-w-0 flex-1 truncate" />
                {bytes > 0 && <span className="shrink-0 text-muted">{bytesText(bytes)}</span>}
              </>
            }
          >
            <WholeEvent run={run} seq={seq} />
          </EventFold>
        ))}
      </ol>
      {next !== undefined && (
        <TextButton className="mt-1 text-sm" onClick={() => setRequested(requested * 2)}>
          Search further, from event {next}
        </TextButton>
      )}
    </div>
  )
}

function WholeEvent({ run, seq }: { run: Run; seq: number }) {
  const event = useQuery({
    queryKey: ['event', run.id, seq],
    queryFn: async () => (await run.source.event(seq)) ?? null,
  })
  if (event.data === undefined) return <QueryNote what="the event" error={event.error} />
  return (
    <div className="py-1 pl-16">
      <JsonTree label={`Event ${seq}`} value={event.data} path={`event.${seq}`} />
    </div>
  )
}
