import { findApi, messageText, type Message, type MessagePart } from '@retake/tape'

/**
 * A wire format of the server: `openai-chat`, `openai-responses`, `openai-embeddings`, `anthropic`,
 * `gemini`, `gemini-embeddings`, `bedrock-converse`, `bedrock-invoke`, `ollama` or
 * `ollama-embeddings`.
 */
export type Format = string

export interface PlainMessage {
  readonly role: Message['role']
  /** Text of the message, or the result of a tool. */
  readonly text: string
}

/** A request before its format is known. */
export interface Arrived {
  /** From 1, over all requests to the server. */
  readonly number: number
  /** The provider that the client wants to reach: `openai`, `groq`, `azure`, … */
  readonly provider: string
  readonly method: string
  /** With its query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

/** A request to a model, as a script sees it. */
export interface ModelRequest extends Arrived {
  readonly format: Format
  readonly model?: string
  /** The conversation as sent, including the system prompt. */
  readonly messages: readonly PlainMessage[]
  readonly stream: boolean
}

/** Reads a request with the decoder that also reads tapes. */
export function toModelRequest(arrived: Arrived, format: Format): ModelRequest {
  const { method, path, headers, body } = arrived
  const request = {
    method,
    url: new URL(path, 'http://127.0.0.1'),
    headers: Object.entries(headers),
    mentions: (...keys: readonly string[]) => keys.every((key) => key in body),
    json: () => body,
  }
  const { model, stream, messages } = findApi(request).decodeRequest(request)
  return {
    ...arrived,
    format,
    ...(model !== undefined && { model }),
    stream,
    messages: messages.map((message) => ({
      role: message.role,
      text: message.role === 'tool' ? message.parts.map(partText).join('\n') : messageText(message),
    })),
  }
}

const partText = (part: MessagePart): string => {
  if (part.type === 'text') return part.text
  if (part.type !== 'tool_result') return ''
  return typeof part.content === 'string' ? part.content : JSON.stringify(part.content)
}
