import { clock, type StepRow } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, type ReactNode, useEffect, useMemo, useRef } from 'react'
import type { StepDetail } from '../../model/run-source.js'
import { KindMark, StateBadge } from '../design/badge.js'
import { QueryNote } from '../design/notes.js'
import { LinkedFields } from '../values/field.js'
import { rowTextOf } from '../values/json-tree.js'
import { type ChatLook, ChatLookProvider, MessageView } from '../step/message-view.js'
import { stepQuery } from '../step/step-panel.js'
import { indexed } from '../values/text-parts.js'
import { VisibleText } from '../values/text.js'
import type { FilteredRows } from './data/row-filter.js'
import { laneName } from './data/row-store.js'
import type { Run } from './data/use-run.js'
import { useSelection } from './data/use-selection.js'

/**
 * The whole run as a conversation: the new messages of each model call, its answer, and the calls in
 * between, in the order of their start, across all lanes. Reads only what is near the screen.
 */
export function Transcript({ run, shown }: { run: Run; shown: FilteredRows }) {
  const { rows, head } = run
  const { step, select } = useSelection()
  const scroller = useRef<HTMLElement>(null)
  const list = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => rows.at(shown.rowAt(index)).label,
    estimateSize: () => 110,
    overscan: 3,
  })
  const position = step === undefined ? -1 : rows.indexOf(step)
  const index = position >= 0 && shown.has(position) ? shown.indexFrom(position) : -1
  useEffect(() => {
    if (index >= 0) list.scrollToIndex(index, { align: 'start' })
  }, [list, index])
  const lanes = useMemo(() => new Map(head.lanes.map(({ id, name }) => [id, name])), [head.lanes])
  return (
    <section
      ref={scroller}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable element must be reachable by keyboard
      tabIndex={0}
      aria-label="Transcript"
      className="h-full overflow-auto"
    >
      {shown.length === 0 && <p className="p-3 text-muted">No step is shown.</p>}
      <ol className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index: at, start, key }) => {
          const row = rows.at(shown.rowAt(at))
          return (
            <li
              key={key}
              ref={list.measureElement}
              data-index={at}
              className="absolute top-0 left-0 w-full border-b border-line"
              style={{ transform: `translateY(${start}px)` }}
            >
              <Entry
                run={run}
                row={row}
                lane={head.lanes.length > 1 ? laneName(row.lane, lanes.get(row.lane)) : undefined}
                isSelected={row.label === step}
                onSelect={select}
              />
            </li>
          )
        })}
      </ol>
    </section>
  )
}

interface EntryProps {
  readonly run: Run
  readonly row: StepRow
  readonly lane: string | undefined
  readonly isSelected: boolean
  readonly onSelect: (label: string) => void
}

const Entry = memo(function Entry({ run, row, lane, isSelected, onSelect }: EntryProps) {
  const { data, error } = useQuery(stepQuery(run, row.label))
  return (
    <article
      aria-current={isSelected ? 'step' : undefined}
      className="aria-[current]:bg-accent-soft aria-[current]:shadow-[inset_2px_0_0_var(--accent)]"
    >
      <button
        type="button"
        className="flex w-full items-center gap-2 px-3 pt-1.5 text-left text-sm text-muted hover:text-text"
        onClick={() => onSelect(row.label)}
      >
        <KindMark kind={row.kind} />
        <span className="shrink-0 font-mono">{row.label}</span>
        <span className="min-w-0 truncate">
          {lane !== undefined && <span className="font-medium text-text">{lane} · </span>}
          <VisibleText text={row.model ?? row.tool ?? row.title} />
        </span>
        <StateBadge state={row.state} />
        <span className="ml-auto shrink-0 font-mono">{clock(row.at)}</span>
      </button>
      {data === undefined ? (
        <div className="min-h-16 px-3">
          <QueryNote what={`step ${row.label}`} error={error} />
        </div>
      ) : (
        data !== null && <Said run={run} detail={data} />
      )}
    </article>
  )
})

/** Messages of other roles are answers and results, which earlier entries show. */
const OWN_ROLES = new Set(['system', 'developer', 'user'])

function Said({ run, detail }: { run: Run; detail: StepDetail }) {
  const { label, conversation } = detail
  if (conversation === undefined) return <Call detail={detail} />
  const { messages, from, newFrom, answer } = conversation
  const fresh = indexed(messages, from).filter(
    ({ index, item: { role } }) => index >= newFrom && OWN_ROLES.has(role),
  )
  return (
    <Chat run={run} label={label}>
      {fresh.map(({ index, item }) => (
        <MessageView key={index} message={item} path={`messages.${index}`} />
      ))}
      {indexed(answer).map(({ index, item }) => (
        <MessageView key={`answer ${index}`} message={item} path={`answer.${index}`} />
      ))}
      {answer.length === 0 && (
        <li className="px-3 py-1.5 text-muted">
          {detail.error ?? (detail.state === 'running' ? 'Answering…' : 'No answer was recorded.')}
        </li>
      )}
    </Chat>
  )
}

/** Links to fields lead to the step, which marks the field. */
function Chat(props: { readonly run: Run; readonly label: string; readonly children: ReactNode }) {
  const { run, label, children } = props
  const look = useMemo<ChatLook>(
    () => ({
      run,
      label,
      mono: false,
      stepOfCall: () => undefined,
      sideOf: (path) => (path.startsWith('answer') ? 'response' : 'request'),
    }),
    [run, label],
  )
  return (
    <LinkedFields label={label} tab="chat" field={undefined}>
      <ChatLookProvider value={look}>
        <ol className="[&>[data-field]]:[content-visibility:visible]">{children}</ol>
      </ChatLookProvider>
    </LinkedFields>
  )
}

const LINE = 600

function Call({ detail: { title, call, error, failure } }: { detail: StepDetail }) {
  const failed = error ?? failure?.message
  return (
    <div className="flex flex-col gap-0.5 px-3 py-1.5 pl-9 font-mono text-sm wrap-anywhere">
      <p className="line-clamp-3">
        <VisibleText text={call === undefined ? title : lineOf(call.args)} />
      </p>
      {failed === undefined
        ? call?.result !== undefined && (
            <p className="line-clamp-5 text-muted">
              → <VisibleText text={lineOf(call.result)} />
            </p>
          )
        : !title.includes(failed) && (
            <p className="line-clamp-5 text-danger">
              <VisibleText text={failed} />
            </p>
          )}
    </div>
  )
}

const lineOf = (value: unknown): string => rowTextOf(value).text.slice(0, LINE)
