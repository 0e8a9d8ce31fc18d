import { assembleMessage } from '../providers/anthropic-assembly.js'
import type { JsonRecord } from '../providers/json-shape.js'
import { assembleChat } from '../providers/openai-chat-assembly.js'
import { assembleResponse } from '../providers/openai-responses-assembly.js'
import type { SseEvent } from '../providers/sse.js'
import { checkChat } from './check-chat.js'
import { checkMessage } from './check-message.js'
import { checkResponse } from './check-response.js'
import { restreamChat } from './restream-chat.js'
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
}

/** By the name of the API in its decoder. */
const FORMATS: ReadonlyMap<string, AnswerFormat> = new Map([
  ['chat completions', { assemble: assembleChat, restream: restreamChat, check: checkChat }],
  ['responses', { assemble: assembleResponse, restream: restreamResponse, check: checkResponse }],
  ['messages', { assemble: assembleMessage, restream: restreamMessage, check: checkMessage }],
])

/** The format of an API; `undefined` when it is none of a model. */
export const answerFormat = (api: string): AnswerFormat | undefined => FORMATS.get(api)
