import type { Conversation } from '../../../model/step-detail.js'
import type { Message, ToolCallPart, ToolResultPart } from '@retake/tape'

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
    for (const [place, part] of parts.entries()) {
      if (part.type === 'tool_call' && part.id !== '') calls.set(part.id, part)
      if (part.type !== 'tool_result' || part.id === '' || !calls.has(part.id)) continue
      if (results.has(part.id)) continue
      results.set(part.id, { part, path: `messages.${from + index}.parts.${place}.content` })
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
  const isAsking = ({ parts }: Message): boolean =>
    parts.some((part) => part.type === 'tool_call' && part.id !== '' && answered.has(part.id))
  const asking = messages.slice(0, Math.max(0, newFrom - from)).findIndex(isAsking)
  return asking < 0 ? newFrom : from + asking
}
