import type { Format, ModelRequest } from './model-request.js'
import type { Reply } from './reply.js'
import type { ScriptedError } from './scripted-answer.js'

/** An answer as it goes over the wire. */
export interface WireAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** One for a document, several for a stream: each is written for itself. */
  readonly pieces: readonly (string | Uint8Array)[]
}

/** What an error is told for; a request to a path that nobody knows has no format. */
export type Failed = Pick<ModelRequest, 'number' | 'path' | 'provider'> & {
  readonly stream?: boolean
}

/** Tells errors as one provider does. */
export interface FailureFormat {
  failure(error: ScriptedError, request: Failed): WireAnswer
}

/** Speaks one API. */
export interface WireFormat extends FailureFormat {
  readonly name: Format
  readonly path: RegExp
  /** Embeddings are computed, not scripted: `answer` is given an empty reply then. */
  isComputed?(request: ModelRequest): boolean
  answer(reply: Reply, request: ModelRequest): WireAnswer
}

export const jsonAnswer = (
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): WireAnswer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  pieces: [JSON.stringify(body)],
})

/** Server-sent events; data is JSON unless it is text. */
export const sseAnswer = (
  events: readonly SseEvent[],
  headers: Readonly<Record<string, string>> = {},
): WireAnswer => ({
  status: 200,
  headers: {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    ...headers,
  },
  pieces: events.map(
    ({ event, data }) =>
      `${event === undefined ? '' : `event: ${event}\n`}data: ${
        typeof data === 'string' ? data : JSON.stringify(data)
      }\n\n`,
  ),
})

export interface SseEvent {
  readonly event?: string
  readonly data: unknown
}

/** How clients are told to wait, or not to try again. */
export const retryHeaders = ({
  status,
  retryAfter,
}: ScriptedError): Readonly<Record<string, string>> => ({
  ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  ...(status === 404 && { 'x-should-retry': 'false' }),
})
