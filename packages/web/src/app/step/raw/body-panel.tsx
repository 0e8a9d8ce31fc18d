import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { count } from '@retake/tape/present'
import type { BodyView, StreamEvents } from '../../../model/step-detail.js'
import type { Run } from '../../run/use-run.js'
import { DownloadBody } from '../bytes/download-body.js'
import { HexView } from '../bytes/hex-view.js'
import { Choice } from '../choice.js'
import { Field } from '../field/field-links.js'
import { bytesText } from '../../../model/bytes-text.js'
import { JsonTree } from '../json/json-tree.js'
import { LongText } from '../text/long-text.js'
import { SseList } from './sse-list.js'

export interface BodyPanelProps {
  readonly run: Run
  readonly label: string
  readonly side: 'request' | 'response'
  readonly body: BodyView
  /** Of a stream, what is in it. */
  readonly events?: StreamEvents | undefined
}

/** The largest body that is read whole to be shown as a tree. */
const TREE_LIMIT = 64 * 1024 * 1024

type Form = 'tree' | 'events' | 'text' | 'hex'

/** A body: as a tree or as events where it is such, as text, or as bytes. */
export function BodyPanel({ run, label, side, body, events }: BodyPanelProps) {
  const [asked, setAsked] = useState<Form>()
  const forms = formsOf(body, events)
  const form = asked !== undefined && forms.includes(asked) ? asked : forms[0]
  if (body.form === 'empty') return <p className="text-muted">No body.</p>
  return (
    <div>
      <div className="mb-1.5 flex flex-wrap items-center gap-2">
        <span className="text-muted">
          {bytesText(body.bytes)}
          {body.form === 'binary' && ', not text in UTF-8'}
        </span>
        <Choice
          label={`How to show the body of the ${side}`}
          value={form ?? 'text'}
          onChange={(next) => setAsked(next as Form)}
          choices={forms.map((each) => ({ value: each, title: TITLES[each] }))}
        />
        <span className="ml-auto">
          <DownloadBody
            run={run}
            label={label}
            side={side}
            bytes={body.bytes}
            ending={body.form === 'json' ? 'json' : body.form === 'binary' ? 'bin' : 'txt'}
          />
        </span>
      </div>
      {form === 'tree' && <BodyTree run={run} label={label} side={side} body={body} />}
      {form === 'events' && events && <SseList stream={events} path={`${side}.events`} />}
      {form === 'text' && <BodyText body={body} path={`${side}.body`} />}
      {form === 'hex' && <HexView run={run} label={label} side={side} />}
    </div>
  )
}

const TITLES: Readonly<Record<Form, string>> = {
  tree: 'Tree',
  events: 'Events',
  text: 'Text',
  hex: 'Bytes',
}

function formsOf(body: BodyView, events: StreamEvents | undefined): readonly Form[] {
  const stream: readonly Form[] = (events?.total ?? 0) > 0 ? ['events'] : []
  if (body.form === 'binary') return [...stream, 'hex']
  if (stream.length > 0) return [...stream, 'text', 'hex']
  return body.form === 'json' ? ['tree', 'text', 'hex'] : ['text', 'hex']
}

/** A body too large to be handed over at once is fetched when somebody wants its tree. */
function BodyTree({ run, label, side, body }: Omit<BodyPanelProps, 'events'>) {
  const [isAsked, setAsked] = useState(false)
  const whole = useQuery({
    queryKey: ['body text', run.id, label, side],
    queryFn: async () => new TextDecoder().decode(await run.source.body(label, side)),
    enabled: body.clipped && isAsked,
    gcTime: 0,
  })
  const text = body.clipped ? whole.data : body.text
  const value = useMemo(() => (text === undefined ? undefined : parse(text)), [text])
  if (value !== undefined)
    return <JsonTree label={`Body of the ${side}`} value={value.json} path={`${side}.body`} />
  if (!body.clipped) return <BodyText body={body} path={`${side}.body`} />
  return (
    <>
      {body.bytes <= TREE_LIMIT ? (
        <p className="mb-1.5">
          <button
            type="button"
            className="text-accent hover:underline"
            disabled={whole.isFetching}
            onClick={() => setAsked(true)}
          >
            {whole.isFetching ? 'Reading…' : `Read all ${bytesText(body.bytes)} as a tree`}
          </button>
          {whole.error && <span role="alert"> {whole.error.message}</span>}
        </p>
      ) : (
        <p className="mb-1.5 text-muted">Too large for a tree here. The file has all of it.</p>
      )}
      <BodyText body={body} path={`${side}.body`} />
    </>
  )
}

function parse(text: string): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

function BodyText({ body, path }: { readonly body: BodyView; readonly path: string }) {
  return (
    <Field path={path}>
      <div className="font-mono text-sm whitespace-pre-wrap [overflow-wrap:anywhere]">
        <LongText text={body.text} />
      </div>
      {body.clipped && (
        <p className="mt-1 text-sm text-muted">
          Only its first {count(body.text.length)} characters are here.
        </p>
      )}
    </Field>
  )
}
