import type { Conversation, StepDetail } from '../../model/step-detail.js'
import type { Message, ToolCallPart, ToolResultPart } from '@retake/tape'
import { useQueries, type UseQueryResult } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Run } from '../run/use-run.js'

/** Messages that are fetched at once; a source hands out no more than 1000. */
const PAGE = 500

export interface ShownMessages {
  /** Place of the first of them in the conversation. */
  readonly from: number
  readonly messages: readonly Message[]
  readonly isLoading: boolean
  readonly error: Error | null
}

const NOTHING: Conversation = { total: 0, from: 0, messages: [], newFrom: 0, answer: [] }

/** The messages of a conversation from a place to its end, as far as they are here already. */
export function useMessages(run: Run, detail: StepDetail, wanted: number): ShownMessages {
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

/** Where the pages begin that hold the messages from one place up to another. */
export function pagesBetween(from: number, to: number): number[] {
  const starts: number[] = []
  if (from >= to) return starts
  for (let start = Math.floor(from / PAGE) * PAGE; start < to; start += PAGE) starts.push(start)
  return starts
}

/** What is there without a gap before the messages that came with the step. */
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

/** A tool's result, and where it stands in the conversation. */
export interface FoundResult {
  readonly part: ToolResultPart
  readonly path: string
}

export interface ToolPairs {
  /** Results by the id of the call they answer. */
  readonly results: ReadonlyMap<string, FoundResult>
  /** Calls by id, of those messages that are shown. */
  readonly calls: ReadonlyMap<string, ToolCallPart>
}

/** Which result answers which call, by id. A call without an id has none. `from`: place of the first message. */
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

/** The first message to be shown: the first new one, or that which asked for a result among them. */
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
