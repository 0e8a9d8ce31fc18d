import { listOf, recordsOf } from '../values/json-shape.js'

/** Content of a tool result: text when it is only text. */
export const resultContent = (content: unknown): unknown => {
  const parts = listOf(content)
  const texts = recordsOf(content).map((part) => part['text'])
  const isOnlyText = parts.length > 0 && texts.every((text) => typeof text === 'string')
  return isOnlyText && texts.length === parts.length ? texts.join('') : content
}

/**
 * A conversation in one shape, whatever the provider. Meant for reading: what
 * a decoder does not know becomes an `other` part, so nothing disappears, but
 * a request cannot be built back from it.
 */
export interface Message {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly parts: readonly MessagePart[]
}

export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | ToolCallPart
  | ToolResultPart
  | { readonly type: 'reasoning'; readonly text: string }
  /** `source` is a URL, a media type of inline data, or a file id. */
  | { readonly type: 'image'; readonly source: string }
  | { readonly type: 'other'; readonly kind: string; readonly value: unknown }

export interface ToolCallPart {
  readonly type: 'tool_call'
  readonly id: string
  readonly name: string
  /** Parsed; the text itself when the model wrote broken JSON. */
  readonly args: unknown
}

export interface ToolResultPart {
  readonly type: 'tool_result'
  /** Id of the call it answers. */
  readonly id: string
  /** Text, or the provider's content blocks. */
  readonly content: unknown
  readonly isError?: boolean
}

export const textPart = (text: string): MessagePart => ({ type: 'text', text })

/** Neighbours of text, or of reasoning, as one: a stream cuts them anywhere. */
export const mergeParts = (parts: readonly MessagePart[]): MessagePart[] => {
  const merged: MessagePart[] = []
  for (const part of parts) {
    const last = merged.at(-1)
    if (part.type === 'text' && last?.type === 'text')
      merged[merged.length - 1] = textPart(last.text + part.text)
    else if (part.type === 'reasoning' && last?.type === 'reasoning')
      merged[merged.length - 1] = { type: 'reasoning', text: last.text + part.text }
    else merged.push(part)
  }
  return merged
}

/** A turn of the user. Where results of tools travel in it, they are shown as a message of the tool. */
export const userTurn = (parts: readonly MessagePart[]): Message[] => {
  const results = parts.filter(({ type }) => type === 'tool_result')
  const others = parts.filter(({ type }) => type !== 'tool_result')
  return [
    ...(results.length === 0 ? [] : [{ role: 'tool', parts: results } as const]),
    ...(others.length === 0 && results.length > 0
      ? []
      : [{ role: 'user', parts: others } as const]),
  ]
}

/** All text of a message, in one string. */
export const messageText = (message: Message): string =>
  message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** Tool calls in messages, in order. */
export const toolCallsIn = (messages: readonly Message[]): ToolCallPart[] =>
  messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'tool_call'))
