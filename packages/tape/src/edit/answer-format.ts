import { assembleMessage } from '../providers/anthropic-assembly.js'
import { assembleConverse } from '../providers/bedrock-assembly.js'
import { isException } from '../providers/bedrock-path.js'
import { assembleContent } from '../providers/gemini-assembly.js'
import { parseJson, recordOf, type JsonRecord } from '../providers/json-shape.js'
import { assembleChat } from '../providers/openai-chat-assembly.js'
import { assembleResponse } from '../providers/openai-responses-assembly.js'
import type { SseEvent } from '../http/sse.js'
import { checkChat } from './check-chat.js'
import { checkContent } from './check-content.js'
import { checkConverse } from './check-converse.js'
import { checkMessage } from './check-message.js'
import { checkResponse } from './check-response.js'
import { assembleOllama, checkOllama, restreamOllama } from './ollama-answer.js'
import { restreamChat } from './restream-chat.js'
import { restreamContent } from './restream-content.js'
import { frameConverse, restreamConverse } from './restream-converse.js'
import { restreamMessage } from './restream-message.js'
import { restreamResponse } from './restream-response.js'

/** What is known of the stream that an edited one stands in for. */
export interface RecordedStream {
  /** Empty when there was none. */
  readonly events: readonly SseEvent[]
  /** The parsed request. */
  readonly request: unknown
}

/** How one API writes its answers: whole, and as a stream. */
export interface AnswerFormat {
  /** The document that an unstreamed call would have given. */
  assemble(events: readonly SseEvent[]): JsonRecord
  /** The events of a stream that adds up to the document, one text an event. */
  restream(answer: JsonRecord, recorded: RecordedStream): string[]
  /** What makes it no answer of this API, a line each. */
  check(answer: unknown): string[]
  /** How an event becomes bytes, where it is not sent as the text it is. */
  readonly frame?: (event: string) => Uint8Array
  /** Content type of its streams, unless they are server-sent events. */
  readonly streamType?: string
  /** Whether a request asks for a stream, where `stream` in its body does not tell. */
  readonly asksForStream?: (request: { readonly url: string; readonly json: unknown }) => boolean
}

const gemini: AnswerFormat = {
  assemble: (events) => assembleContent(events.map(({ data }) => recordOf(parseJson(data)))),
  restream: restreamContent,
  check: checkContent,
  // Without `alt=sse` the chunks come in one JSON array, which is edited as such.
  asksForStream: ({ url }) => /(?::|%3A)streamGenerateContent\?.*\balt=sse\b/i.test(url),
}

const converse: AnswerFormat = {
  assemble: (events) => {
    const named = events.map(({ event, data }) => [event, recordOf(parseJson(data))] as const)
    const failed = named.find(([event]) => isException(event))
    const error = failed && { type: failed[0], ...failed[1] }
    return { ...assembleConverse(named), ...(error !== undefined && { error }) }
  },
  restream: restreamConverse,
  check: checkConverse,
  frame: frameConverse,
  streamType: 'application/vnd.amazon.eventstream',
  asksForStream: ({ url }) => /\/converse-stream(?:\?|$)/.test(url),
}

const ollama: AnswerFormat = {
  assemble: assembleOllama,
  restream: restreamOllama,
  check: checkOllama,
  streamType: 'application/x-ndjson',
  asksForStream: ({ url, json }) => !url.endsWith('/embed') && recordOf(json)['stream'] !== false,
}

/** By the name of the API in its decoder. */
const FORMATS = new Map<string, AnswerFormat>([
  ['chat completions', { assemble: assembleChat, restream: restreamChat, check: checkChat }],
  ['responses', { assemble: assembleResponse, restream: restreamResponse, check: checkResponse }],
  ['messages', { assemble: assembleMessage, restream: restreamMessage, check: checkMessage }],
  ['generate content', gemini],
  ['converse', converse],
  ['ollama', ollama],
])

/** The format of an API; `undefined` when it is none of a model. */
export const answerFormat = (api: string): AnswerFormat | undefined => FORMATS.get(api)
