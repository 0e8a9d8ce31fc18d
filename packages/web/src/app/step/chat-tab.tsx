import { count, plural } from '@retake/tape/present'
import { useMemo, useState } from 'react'
import type { Conversation, StepDetail } from '../../model/run-source.js'
import { TextButton } from '../design/button.js'
import { useCommands } from '../commands/commands.js'
import { Checkbox } from '../design/fields.js'
import { useRemembered } from '../design/remembered.js'
import type { RowStore } from '../run/data/row-store.js'
import { readFieldPath } from '../values/field-path.js'
import { Fold, StepLink, type TabProps, useFieldLinks } from '../values/field.js'
import { jsonIn, JsonTree } from '../values/json-tree.js'
import { ChatLookProvider, MessageView } from './message-view.js'
import { indexed } from '../values/text-parts.js'
import { VisibleText } from '../values/text.js'
import type { Message, ToolCallPart, ToolResultPart } from '@retake/tape'
import { useQueries, type UseQueryResult } from '@tanstack/react-query'
import type { Run } from '../run/data/use-run.js'

/** Messages per page. A source returns at most 1000. */
const PAGE = 500

type ShownMessages = ReturnType<typeof useMessages>

const NOTHING: Conversation = {
  total: 0,
  from: 0,
  messages: [],
  newFrom: 0,
  answer: [],
  members: [],
}

/** The loaded messages from an index to the end. */
function useMessages(run: Run, detail: StepDetail, wanted: number) {
  const given = detail.conversation ?? NOTHING
  const starts = useMemo(() => pagesBetween(wanted, given.from), [wanted, given.from])
  const { pages, isLoading, error } = useQueries({
    queries: starts.map((start) => ({
      queryKey: ['messages', run.id, detail.label, start],
      queryFn: async () =>
        (await run.source.step(detail.label, { messagesFrom: start }))?.conversation?.messages ??
        [],
    })),
    combine: together,
  })
  const joined = useMemo(() => joinPages(given, starts, pages), [given, starts, pages])
  const from = Math.max(joined.from, Math.min(wanted, given.total))
  const messages = useMemo(() => joined.messages.slice(from - joined.from), [joined, from])
  return { from, messages, isLoading, error }
}

const together = (results: readonly UseQueryResult<readonly Message[]>[]) => ({
  pages: results.map(({ data }) => data),
  isLoading: results.some((result) => result.isFetching),
  error: results.find((result) => result.error !== null)?.error ?? null,
})

/** The starts of the pages that contain a range of messages. */
export function pagesBetween(from: number, to: number): number[] {
  const starts: number[] = []
  if (from >= to) return starts
  for (let start = Math.floor(from / PAGE) * PAGE; start < to; start += PAGE) starts.push(start)
  return starts
}

/** The messages of the step, with the loaded ones that precede them without a gap. */
export function joinPages(
  given: Pick<Conversation, 'from' | 'messages'>,
  starts: readonly number[],
  pages: readonly (readonly Message[] | undefined)[],
): { readonly from: number; readonly messages: readonly Message[] } {
  let { from } = given
  const pieces = [given.messages]
  for (let index = starts.length - 1; index >= 0; index--) {
    const start = starts[index] ?? 0
    const page = pages[index]?.slice(0, from - start)
    if (page === undefined || start + page.length < from) break
    pieces.push(page)
    from = start
  }
  return { from, messages: pieces.toReversed().flat() }
}

export interface FoundResult {
  readonly part: ToolResultPart
  readonly path: string
}

export interface ToolPairs {
  readonly results: ReadonlyMap<string, FoundResult>
  readonly calls: ReadonlyMap<string, ToolCallPart>
}

/** Pairs results and calls by id. `from` is the index of the first message. */
export function pairTools(messages: readonly Message[], from: number): ToolPairs {
  const results = new Map<string, FoundResult>()
  const calls = new Map<string, ToolCallPart>()
  for (const [index, { parts }] of messages.entries()) {
    for (const [position, part] of parts.entries()) {
      if (part.type === 'tool_call' && part.id !== '') calls.set(part.id, part)
      if (part.type !== 'tool_result' || part.id === '' || !calls.has(part.id)) continue
      if (results.has(part.id)) continue
      results.set(part.id, { part, path: `messages.${from + index}.parts.${position}.content` })
    }
  }
  return { results, calls }
}

/** The first new message, or the one that requested a result among the new ones. */
export function firstShown({ messages, from, newFrom }: Conversation): number {
  const fresh = messages.slice(Math.max(0, newFrom - from))
  const answered = new Set(
    fresh.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'tool_result' ? [part.id] : [])),
    ),
  )
  const isListening = ({ parts }: Message): boolean =>
    parts.some((part) => part.type === 'tool_call' && part.id !== '' && answered.has(part.id))
  const requesting = messages.slice(0, Math.max(0, newFrom - from)).findIndex(isListening)
  return requesting < 0 ? newFrom : from + requesting
}

/** Number of steps after a model step in which to search its tool steps. */
const LOOK_AHEAD = 500

/**
 * Finds the steps that executed the tool calls in an answer. Pairs calls and steps with the same name
 * in order. Calls in earlier messages belong to earlier steps.
 */
function callFinder(rows: RowStore, detail: StepDetail): (path: string) => string | undefined {
  let found: Map<string, string> | undefined
  return (path) => {
    if (!path.startsWith('answer.')) return undefined
    found ??= pairUp(rows, detail)
    return found.get(path)
  }
}

function pairUp(rows: RowStore, { label, conversation }: StepDetail): Map<string, string> {
  const found = new Map<string, string>()
  const start = rows.indexOf(label)
  if (start < 0) return found
  const requested: { readonly name: string; readonly path: string }[] = (
    conversation?.answer ?? []
  ).flatMap(({ parts }, message) =>
    parts.flatMap((part, index) =>
      part.type === 'tool_call'
        ? [{ name: part.name, path: `answer.${message}.parts.${index}` }]
        : [],
    ),
  )
  const end = Math.min(rows.length, start + LOOK_AHEAD)
  for (let position = start + 1; position < end && found.size < requested.length; position++) {
    const row = rows.at(position)
    if (row.parent !== label || row.tool === undefined) continue
    const tool = row.tool
    const call = requested.find(({ name, path }) => !found.has(path) && name.endsWith(tool))
    if (call !== undefined) found.set(call.path, row.label)
  }
  return found
}

const MORE = 60

interface EarlierMessagesProps {
  readonly conversation: Conversation
  readonly shown: ShownMessages
  readonly onShow: (from: number) => void
}

function EarlierMessages({ conversation, shown, onShow }: EarlierMessagesProps) {
  const { newFrom, seenIn } = conversation
  const { from, isLoading, error } = shown
  if (from === 0) return null
  return (
    <div className="flex flex-wrap items-center gap-x-3 border-y border-line bg-sunken px-3 py-1.5 text-sm text-muted">
      <span>
        {plural(from, 'earlier message')}
        {from <= newFrom && seenIn !== undefined && (
          <>
            , seen in <StepLink label={seenIn}>step {seenIn}</StepLink>
          </>
        )}
      </span>
      <TextButton onClick={() => onShow(Math.max(0, from - MORE))}>
        Show {from > MORE ? `the ${MORE} before` : 'them'}
      </TextButton>
      {from > MORE && <TextButton onClick={() => onShow(0)}>Show all {count(from)}</TextButton>}
      {isLoading && <span>Loading…</span>}
      {error && <span role="alert">{error.message}</span>}
    </div>
  )
}

/** The conversation: new messages, earlier ones on demand, and the answer. */
export function ChatTab({ run, detail }: TabProps) {
  const given = detail.conversation
  const { field } = useFieldLinks()
  const [root, linked = ''] = readFieldPath(field ?? '')
  const [requested, setRequested] = useState<{ step: string; from: number }>()
  const [mono, setMono] = useRemembered('step.monospace', false)
  useCommands((add) => {
    const title = mono ? 'Show messages as Markdown' : 'Show messages as raw text'
    add('View', 'step.monospace', title, ['m'], () => setMono(!mono))
  })
  const first = given === undefined ? 0 : Math.max(given.from, firstShown(given))
  const wanted = Math.min(
    requested?.step === detail.label ? requested.from : first,
    root === 'messages' && /^\d{1,9}$/.test(linked) ? Number(linked) : Infinity,
  )
  const shown = useMessages(run, detail, wanted)
  const { from, messages } = shown
  const pairs = useMemo(() => pairTools(messages, from), [messages, from])
  // The steps of calls are known once all rows are loaded.
  const { isComplete } = run.rows
  const look = useMemo(
    () => ({
      mono,
      run,
      label: detail.label,
      stepOfCall: isComplete ? callFinder(run.rows, detail) : () => undefined,
      sideOf: (path: string) =>
        path.startsWith('answer') ? ('response' as const) : ('request' as const),
      newFrom: detail.conversation?.newFrom ?? 0,
    }),
    [mono, run, detail, isComplete],
  )
  if (given === undefined)
    return <p className="p-3 text-muted">There is no conversation in this step.</p>
  return (
    <ChatLookProvider value={look}>
      <ol aria-label="Answer">
        {indexed(given.answer).map(({ index: position, item: message }) => (
          <MessageView
            key={position}
            message={message}
            path={`answer.${position}`}
            pairs={pairs}
            isAnswer
          />
        ))}
        {given.answer.length === 0 && (
          <li className="bg-raised px-3 py-2.5 text-muted">
            {detail.state === 'running' ? 'Answering…' : 'No answer from the model was recorded.'}
          </li>
        )}
      </ol>
      <div className="flex flex-wrap items-center gap-3 border-y border-line px-3 py-1.5 text-sm text-muted">
        <span>In response to {plural(given.total, 'message')}</span>
        <span className="ml-auto">
          <Checkbox label="Raw text" isChecked={mono} onChange={setMono} />
        </span>
      </div>
      <Parameters detail={detail} />
      <EarlierMessages
        conversation={given}
        shown={shown}
        onShow={(next) => setRequested({ step: detail.label, from: next })}
      />
      <ol className="divide-y divide-line" aria-label="Messages">
        {indexed(messages, from).map(({ index: position, item: message }) => (
          <MessageView
            key={position}
            message={message}
            path={`messages.${position}`}
            pairs={pairs}
            isNew={given.newFrom > 0 && position >= given.newFrom}
          />
        ))}
        {messages.length === 0 && given.total > 0 && (
          <li className="px-3 py-2 text-muted">No new messages before this answer.</li>
        )}
      </ol>
    </ChatLookProvider>
  )
}

const TOOLS = ['tools', 'functions', 'toolConfig']

/** The parameters of the request besides the conversation, folded. */
function Parameters({ detail: { request, conversation } }: { detail: StepDetail }) {
  const text = request?.body.clipped === false ? request.body.text : ''
  const body = useMemo(() => jsonIn(text), [text])
  if (body === undefined || Array.isArray(body)) return null
  const entries = Object.entries(body).filter(([key]) => !conversation?.members.includes(key))
  if (entries.every(([key]) => key === 'model')) return null
  const tools = entries.flatMap(([key, value]) =>
    TOOLS.includes(key) && Array.isArray(value) ? [value.length] : [],
  )
  const plain = entries
    .filter(
      ([key, value]) =>
        key !== 'model' && !TOOLS.includes(key) && !(typeof value === 'object' && value !== null),
    )
    .map(([key, value]) => `${key} ${String(value)}`)
  const words = [...tools.map((count) => plural(count, 'tool')), ...plain].join(' · ')
  return (
    <Fold
      path="parameters"
      title={
        <>
          Parameters and tools{' '}
          <span className="text-muted">
            <VisibleText text={words.length > 120 ? `${words.slice(0, 120)}…` : words} />
          </span>
        </>
      }
      className="border-b border-line px-3 py-1.5"
    >
      <JsonTree label="Parameters" value={Object.fromEntries(entries)} path="request.body" />
    </Fold>
  )
}
