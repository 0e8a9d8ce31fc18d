import { attempt } from '@retake/tape'
import { count, duration, plural, bytesText } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef, useState } from 'react'
import type { BodySide, BodyView, StreamEvents } from '../../model/run-source.js'
import { Button, TextButton } from '../design/button.js'
import { Choice } from '../design/fields.js'
import { DownloadIcon } from '../design/icons.js'
import { QueryNote } from '../design/notes.js'
import { showToast } from '../design/toast.js'
import type { Run } from '../run/data/use-run.js'
import { EventFold, Field } from '../values/field.js'
import { jsonIn, JsonTree } from '../values/json-tree.js'
import { hexLine, hexLineCount, indexed } from '../values/text-parts.js'
import { LongText, VisibleText } from '../values/text.js'

/** Number of bytes shown. A download contains all of them. */
const SHOWN = 65_536
const LINE = 18

function HexView({ run, label, side }: { run: Run; label: string; side: BodySide }) {
  const body = useQuery({
    queryKey: ['body', run.id, label, side],
    queryFn: () => run.source.body(label, side),
    gcTime: 0,
  })
  if (body.data === undefined) return <QueryNote what="the bytes" error={body.error} />
  return <HexLines bytes={body.data} />
}

function HexLines({ bytes }: { bytes: Uint8Array }) {
  const scroller = useRef<HTMLDivElement>(null)
  const shown = bytes.subarray(0, SHOWN)
  const list = useVirtualizer({
    count: hexLineCount(shown.length),
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE,
    overscan: 20,
  })
  return (
    <>
      {bytes.length > SHOWN && (
        <p className="mb-1 text-sm text-muted">
          The first {bytesText(SHOWN)} of {bytesText(bytes.length)}.
        </p>
      )}
      <section
        ref={scroller}
        aria-label="Bytes"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable element must be reachable by keyboard
        tabIndex={0}
        className="max-h-[60vh] overflow-auto border border-line font-mono text-sm"
      >
        <div className="relative" style={{ height: list.getTotalSize(), minWidth: '78ch' }}>
          {list.getVirtualItems().map(({ index, start }) => {
            const line = hexLine(shown, index)
            return (
              <div
                key={index}
                className="absolute left-0 px-2 whitespace-pre"
                style={{ top: start, height: LINE, lineHeight: `${LINE}px` }}
              >
                <span className="text-muted">{line.offset} </span> {line.hex}{' '}
                <span className="text-accent">{line.text}</span>
              </div>
            )
          })}
        </div>
      </section>
    </>
  )
}

interface BodyPanelProps {
  readonly run: Run
  readonly label: string
  readonly side: 'request' | 'response'
  readonly body: BodyView
  readonly events?: StreamEvents | undefined
}

/** The largest body that is parsed into a tree. */
const TREE_LIMIT = 64 * 1024 * 1024

type Form = 'tree' | 'events' | 'text' | 'hex'

export function BodyPanel({ run, label, side, body, events }: BodyPanelProps) {
  const [requested, setRequested] = useState<Form>()
  const forms = formsOf(body, events)
  const form = requested !== undefined && forms.includes(requested) ? requested : forms[0]
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
          onChange={setRequested}
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

/** Fetches a large body when its tree is opened. */
function BodyTree({ run, label, side, body }: Omit<BodyPanelProps, 'events'>) {
  const [isRequested, setRequested] = useState(false)
  const whole = useQuery({
    queryKey: ['body text', run.id, label, side],
    queryFn: async () => new TextDecoder().decode(await run.source.body(label, side)),
    enabled: body.clipped && isRequested,
    gcTime: 0,
  })
  const text = body.clipped ? whole.data : body.text
  const value = useMemo(
    () => (text === undefined ? undefined : attempt(() => ({ json: JSON.parse(text) as unknown }))),
    [text],
  )
  if (value !== undefined)
    return <JsonTree label={`Body of the ${side}`} value={value.json} path={`${side}.body`} />
  if (!body.clipped) return <BodyText body={body} path={`${side}.body`} />
  return (
    <>
      {body.bytes <= TREE_LIMIT ? (
        <p className="mb-1.5">
          <TextButton disabled={whole.isFetching} onClick={() => setRequested(true)}>
            {whole.isFetching ? 'Reading…' : `Read all ${bytesText(body.bytes)} as a tree`}
          </TextButton>
          {whole.error && <span role="alert"> {whole.error.message}</span>}
        </p>
      ) : (
        <p className="mb-1.5 text-muted">Too large for a tree; download the file.</p>
      )}
      <BodyText body={body} path={`${side}.body`} />
    </>
  )
}

const BodyText = ({ body, path }: { body: BodyView; path: string }) => (
  <Field path={path}>
    <div className="font-mono text-sm whitespace-pre-wrap [overflow-wrap:anywhere]">
      <LongText text={body.text} />
    </div>
    {body.clipped && (
      <p className="mt-1 text-sm text-muted">
        Only the first {count(body.text.length)} characters are shown.
      </p>
    )}
  </Field>
)

function SseList({ stream, path }: { stream: StreamEvents; path: string }) {
  const { total, events } = stream
  return (
    <>
      <p className="mb-1 text-sm text-muted">
        {plural(total, 'event')}
        {events.length < total &&
          `; the first ${count(events.length)} are shown, the text has all of them`}
      </p>
      <ol className="divide-y divide-line border-y border-line">
        {indexed(events).map(({ index, item: { at, event, data, clipped } }) => (
          <EventFold
            key={index}
            path={`${path}.${index}`}
            title={
              <>
                <span className="w-8 shrink-0 text-right text-muted">{index + 1}</span>
                <span className="w-16 shrink-0 text-right text-muted">{duration(at)}</span>
                {event !== '' && (
                  <VisibleText text={event.slice(0, 100)} className="shrink-0 text-kind-model" />
                )}
                <VisibleText text={data.slice(0, 300)} className="min-w-0 flex-1 truncate" />
              </>
            }
          >
            <EventData data={data} isCut={clipped} path={`${path}.${index}`} index={index} />
          </EventFold>
        ))}
      </ol>
    </>
  )
}

interface EventDataProps {
  readonly data: string
  readonly isCut: boolean | undefined
  readonly path: string
  readonly index: number
}

/** Rendered and parsed only while its line is open. */
function EventData({ data, isCut, path, index }: EventDataProps) {
  const value = jsonIn(data)
  return (
    <div className="py-1 pl-10 font-mono text-sm">
      {value === undefined ? (
        <div className="whitespace-pre-wrap [overflow-wrap:anywhere]">
          <VisibleText text={data} />
          {isCut && <span className="text-muted"> … truncated; the text has all of it</span>}
        </div>
      ) : (
        <JsonTree label={`Event ${index + 1}`} value={value} path={path} />
      )}
    </div>
  )
}

interface DownloadBodyProps {
  readonly run: Run
  readonly label: string
  readonly side: BodySide
  readonly bytes?: number
  readonly ending?: string
}

export function DownloadBody({ run, label, side, bytes, ending = 'txt' }: DownloadBodyProps) {
  const [isBusy, setBusy] = useState(false)
  const save = async (): Promise<void> => {
    setBusy(true)
    try {
      const body = await run.source.body(label, side)
      saveBytes(body, `${run.id}-step-${label}-${side}.${ending}`, 'application/octet-stream')
    } catch (error) {
      showToast(`The ${side} could not be read: ${(error as Error).message}`, true)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button className="h-6" disabled={isBusy} onClick={() => void save()}>
      <DownloadIcon />
      {bytes === undefined ? `Download the whole ${side}` : `Download, ${bytesText(bytes)}`}
    </Button>
  )
}

export function saveBytes(bytes: Uint8Array | string, name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([bytes as BlobPart], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
