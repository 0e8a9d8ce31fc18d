import { listOf, recordsOf } from '../../format/values/json-shape.js'

/**
 * A conversation in one format for all providers. For reading only: unknown content becomes an
 * `other` part, so nothing disappears, but a request cannot be rebuilt from it.
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
  /** Parsed; the text itself if the model wrote invalid JSON. */
  readonly args: unknown
}

export interface ToolResultPart {
  readonly type: 'tool_result'
  /** Id of the call that it answers. */
  readonly id: string
  /** Text, or the provider's content blocks. */
  readonly content: unknown
  readonly isError?: boolean
}

export const textPart = (text: string): MessagePart => ({ type: 'text', text })

/** Reasoning and text, each only if not empty. */
export const saidParts = ({ reasoning = '', text = '' }): MessagePart[] => [
  ...(reasoning === '' ? [] : [{ type: 'reasoning', text: reasoning } as const]),
  ...(text === '' ? [] : [textPart(text)]),
]

export const otherPart = (kind: string, value: unknown): MessagePart => ({
  type: 'other',
  kind,
  value,
})

/** A list of one message; empty if the message has no content. */
export const turnOf = (role: Message['role'], parts: readonly MessagePart[]): Message[] =>
  parts.length === 0 ? [] : [{ role, parts }]

/** Joins adjacent texts, or adjacent reasoning, because a stream can split them anywhere. */
export const mergeParts = (parts: readonly MessagePart[]): MessagePart[] => {
  const merged: MessagePart[] = []
  for (const part of parts) {
    const last = merged.at(-1)
    if (
      (part.type === 'text' || part.type === 'reasoning') &&
      (last?.type === 'text' || last?.type === 'reasoning') &&
      last.type === part.type
    )
      merged[merged.length - 1] = { type: part.type, text: last.text + part.text }
    else merged.push(part)
  }
  return merged
}

/** Joins adjacent messages of one of these roles. */
export const joinTurns = (
  messages: readonly Message[],
  roles: readonly Message['role'][],
): Message[] => {
  const turns: Message[] = []
  for (const { role, parts } of messages) {
    const last = turns.at(-1)
    if (last?.role === role && roles.includes(role))
      turns[turns.length - 1] = { role, parts: [...last.parts, ...parts] }
    else turns.push({ role, parts })
  }
  return turns
}

/** A turn of the user. Tool results in it become a message of the tool. */
export const userTurn = (parts: readonly MessagePart[]): Message[] => {
  const results = parts.filter(({ type }) => type === 'tool_result')
  const others = parts.filter(({ type }) => type !== 'tool_result')
  return results.length === 0
    ? [{ role: 'user', parts }]
    : [{ role: 'tool', parts: results }, ...turnOf('user', others)]
}

/** Content of a tool result: text if it is only text. */
export const resultContent = (content: unknown): unknown => {
  const parts = listOf(content)
  const texts = recordsOf(content).map((part) => part['text'])
  const isOnlyText = parts.length > 0 && texts.every((text) => typeof text === 'string')
  return isOnlyText && texts.length === parts.length ? texts.join('') : content
}

export const messageText = (message: Message): string =>
  message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

export const toolCallsIn = (messages: readonly Message[]): ToolCallPart[] =>
  messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'tool_call'))

/**
 * Ids for calls and results of APIs without ids. The second call of `lookup` in a conversation is
 * `lookup#2`, and so is its second result: results come in the order of their calls.
 */
export class CallNumbers {
  readonly #counts = new Map<string, number>()

  call(id: string, name: string): string {
    return id === '' ? this.#next('call', name) : id
  }

  result(id: string, name: string): string {
    return id === '' ? this.#next('result', name) : id
  }

  #next(kind: string, name: string): string {
    const key = `${kind} ${name}`
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    return `${name}#${count}`
  }
}

/** True for an id that `CallNumbers` made, which is not part of any request. */
export const isNumberedCall = (id: string): boolean => /#\d+$/.test(id)
