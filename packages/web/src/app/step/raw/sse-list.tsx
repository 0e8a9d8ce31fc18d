import { useMemo, useState } from 'react'
import { useFieldLinks, Field } from '../field/field-links.js'
import { keysWithin } from '../field/field-path.js'
import { plural } from '../format.js'
import { jsonIn } from '../chat/tool-call-view.js'
import { JsonTree } from '../json/json-tree.js'
import { VisibleText } from '../text/visible-text.js'
import { readSse, type SseItem } from './read-sse.js'

const PAGE = 200

/** The events of a streamed answer, in order, each to be opened. */
export function SseList(props: {
  readonly text: string
  readonly isCut: boolean
  readonly path: string
}) {
  const { text, isCut, path } = props
  const items = useMemo(() => readSse(text), [text])
  const linked = Number(keysWithin(path, useFieldLinks().field)?.[0] ?? Number.NaN)
  const [asked, setAsked] = useState(PAGE)
  const shown = Math.max(asked, Number.isNaN(linked) ? 0 : linked + 1)
  return (
    <>
      <p className="mb-1 text-sm text-muted">
        {plural(items.length, 'event')}
        {isCut && ' in the part that is here; the file has all'}
      </p>
      <ol className="divide-y divide-line border-y border-line">
        {items.slice(0, shown).map((item, place) => (
          <li
            key={place}
            className="[contain-intrinsic-size:auto_1.5rem] [content-visibility:auto]"
          >
            <SseLine item={item} place={place} path={path} isLinked={place === linked} />
          </li>
        ))}
      </ol>
      {items.length > shown && (
        <button
          type="button"
          className="mt-1 text-sm text-accent hover:underline"
          onClick={() => setAsked(shown + 1000)}
        >
          Show more, {plural(items.length - shown, 'event')} left
        </button>
      )}
    </>
  )
}

function SseLine(props: {
  readonly item: SseItem
  readonly place: number
  readonly path: string
  readonly isLinked: boolean
}) {
  const { item, place, path, isLinked } = props
  const [isOpen, setOpen] = useState(false)
  const value = isOpen || isLinked ? jsonIn(item.data) : undefined
  return (
    <Field path={`${path}.${place}`}>
      <details
        open={isOpen || isLinked}
        onToggle={(event) => setOpen(event.currentTarget.open)}
        className="font-mono text-sm"
      >
        <summary className="flex cursor-pointer gap-2 py-0.5 hover:bg-sunken">
          <span className="w-10 shrink-0 text-right text-muted">{place + 1}</span>
          {item.event !== undefined && (
            <span className="shrink-0 text-kind-model">
              <VisibleText text={item.event.slice(0, 100)} />
            </span>
          )}
          <span className="min-w-0 flex-1 truncate">
            <VisibleText text={item.data.slice(0, 300)} />
          </span>
        </summary>
        {(isOpen || isLinked) && (
          <div className="py-1 pl-12">
            {value === undefined ? (
              <div className="whitespace-pre-wrap [overflow-wrap:anywhere]">
                <VisibleText text={item.data} />
              </div>
            ) : (
              <JsonTree label={`Event ${place + 1}`} value={value} path={`${path}.${place}`} />
            )}
          </div>
        )}
      </details>
    </Field>
  )
}
