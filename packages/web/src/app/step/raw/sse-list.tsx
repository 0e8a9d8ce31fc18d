import { count, duration, plural } from '@retake/tape/present'
import type { StreamEvents } from '../../../model/step-detail.js'
import { Field } from '../field/field-links.js'
import { Fold } from '../field/fold.js'
import { jsonIn } from '../json/json-in.js'
import { JsonTree } from '../json/json-tree.js'
import { placed } from '../placed.js'
import { VisibleText } from '../text/visible-text.js'

/** The events of a streamed answer, in order, each to be opened. */
export function SseList({
  stream,
  path,
}: {
  readonly stream: StreamEvents
  readonly path: string
}) {
  const { total, from, events } = stream
  return (
    <>
      <p className="mb-1 text-sm text-muted">
        {plural(total, 'event')}
        {events.length < total &&
          `; ${count(from + 1)} to ${count(from + events.length)} are here, the text has all`}
      </p>
      <ol className="divide-y divide-line border-y border-line">
        {placed(events, from).map(({ place, it: item }) => (
          <li
            key={place}
            className="[contain-intrinsic-size:auto_1.5rem] [content-visibility:auto]"
          >
            <SseLine item={item} place={place} path={path} />
          </li>
        ))}
      </ol>
    </>
  )
}

function SseLine(props: {
  readonly item: StreamEvents['events'][number]
  readonly place: number
  readonly path: string
}) {
  const { item, place, path } = props
  const own = `${path}.${place}`
  return (
    <Field path={own} className="pr-7">
      <Fold
        path={own}
        className="font-mono text-sm"
        summaryClassName="flex min-h-6 cursor-pointer items-center gap-2 hover:bg-sunken"
        title={
          <>
            <span className="w-8 shrink-0 text-right text-muted">{place + 1}</span>
            <span className="w-16 shrink-0 text-right text-muted">{duration(item.at)}</span>
            {item.event !== '' && (
              <span className="shrink-0 text-kind-model">
                <VisibleText text={item.event.slice(0, 100)} />
              </span>
            )}
            <span className="min-w-0 flex-1 truncate">
              <VisibleText text={item.data.slice(0, 300)} />
            </span>
          </>
        }
      >
        <EventData item={item} path={own} label={`Event ${place + 1}`} />
      </Fold>
    </Field>
  )
}

function EventData(props: {
  readonly item: StreamEvents['events'][number]
  readonly path: string
  readonly label: string
}) {
  const { item, path, label } = props
  const value = jsonIn(item.data)
  return (
    <div className="py-1 pl-10">
      {value === undefined ? (
        <div className="whitespace-pre-wrap [overflow-wrap:anywhere]">
          <VisibleText text={item.data} />
          {item.clipped && <span className="text-muted"> … cut here; the text has all</span>}
        </div>
      ) : (
        <JsonTree label={label} value={value} path={path} />
      )}
    </div>
  )
}
