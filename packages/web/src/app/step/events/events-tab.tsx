import { QueryNote } from '../query-note.js'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { clock, plural } from '@retake/tape/present'
import type { EventRow } from '../../../model/run-parts.js'
import type { Run } from '../../run/use-run.js'
import { momentOf } from '../console/split-at-moment.js'
import { Field } from '../field/field-links.js'
import { Fold } from '../field/fold.js'
import { bytesText } from '../../../model/bytes-text.js'
import { JsonTree } from '../json/json-tree.js'
import { VisibleText } from '../text/visible-text.js'
import type { TabProps } from '../tabs/tab-props.js'
import { readEventsOf } from './read-events-of.js'

/** What stands on the tape for this step, event by event. */
export function EventsTab({ run, detail }: TabProps) {
  const [asked, setAsked] = useState(20_000)
  const events = useQuery({
    queryKey: ['events', run.id, detail.label, momentOf(detail), asked],
    queryFn: () => readEventsOf(run.source, detail, asked),
  })
  if (detail.inferred)
    return (
      <p className="p-3 text-muted">
        This step has no events of its own: it is seen in the conversation only.
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
        {rows.map((row) => (
          <li
            key={row.seq}
            className="[contain-intrinsic-size:auto_1.5rem] [content-visibility:auto]"
          >
            <EventLine run={run} row={row} />
          </li>
        ))}
      </ol>
      {next !== undefined && (
        <button
          type="button"
          className="mt-1 text-sm text-accent hover:underline"
          onClick={() => setAsked(asked * 2)}
        >
          Look further, from event {next}
        </button>
      )}
    </div>
  )
}

function EventLine({ run, row }: { readonly run: Run; readonly row: EventRow }) {
  const path = `event.${row.seq}`
  return (
    <Field path={path} className="pr-7">
      <Fold
        path={path}
        summaryClassName="flex min-h-6 cursor-pointer items-center gap-2 font-mono text-sm hover:bg-sunken"
        title={
          <>
            <span className="w-12 shrink-0 text-right text-muted">{row.seq}</span>
            <span className="w-18 shrink-0 text-right text-muted">{clock(row.at)}</span>
            <span className="w-16 shrink-0">{row.type}</span>
            <span className="min-w-0 flex-1 truncate">
              <VisibleText text={row.text} />
            </span>
            {row.bytes > 0 && <span className="shrink-0 text-muted">{bytesText(row.bytes)}</span>}
          </>
        }
      >
        <WholeEvent run={run} seq={row.seq} />
      </Fold>
    </Field>
  )
}

function WholeEvent({ run, seq }: { readonly run: Run; readonly seq: number }) {
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
