import type { Message, ToolCallPart, ToolResultPart } from '@retake/tape'
import { useQueries, type UseQueryResult } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Conversation, StepDetail } from '../../model/step-detail.js'
import type { Run } from '../run/use-run.js'

/** Page size; a source returns at most 1000. */
const PAGE = 500

export interface ShownMessages {
  readonly from: number
  readonly messages: readonly Message[]
  readonly isLoading: boolean
  readonly error: Error | null
}

const NOTHING: Conversation = { total: 0, from: 0, messages: [], newFrom: 0, answer: [] }

/** Messages from an index to the end, as far as they are loaded. */
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

/** Starts of the pages that contain a range of messages. */
export function pagesBetween(from: number, to: number): number[] {
  const starts: number[] = []
  if (from >= to) return starts
  for (let start = Math.floor(from / PAGE) * PAGE; start < to; start += PAGE) starts.push(start)
  return starts
}

/** The loaded messages that precede those of the step without a gap. */
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
  /** Results by call id. */
  readonly results: ReadonlyMap<string, FoundResult>
  /** Calls by id, of the shown messages. */
  readonly calls: ReadonlyMap<string, ToolCallPart>
}

/**
 * Pairs results and calls by id. A call without an id has no result. `from`: index of the
 * first message.
 */
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
