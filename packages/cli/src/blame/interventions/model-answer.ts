import type { Exchange } from '@retake/tape'
import { isRecord } from './neutral-value.js'

type JsonRecord = Readonly<Record<string, unknown>>

/** Puts a text in place of all that a model said: no tool calls, no thoughts. */
type SayText = (answer: JsonRecord, text: string) => JsonRecord

const first = (list: unknown): JsonRecord => {
  const [one] = Array.isArray(list) ? (list as unknown[]) : []
  return isRecord(one) ? one : {}
}
const record = (value: unknown): JsonRecord => (isRecord(value) ? value : {})

/** By the API that an exchange speaks. */
const FORMATS: Readonly<Record<string, SayText>> = {
  'chat completions': (answer, text) => ({
    ...answer,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text },
        ...('logprobs' in first(answer['choices']) && { logprobs: null }),
        finish_reason: 'stop',
      },
    ],
  }),
  responses: (answer, text) => ({
    ...answer,
    status: 'completed',
    ...('incomplete_details' in answer && { incomplete_details: null }),
    output: [
      {
        id: 'msg_neutral',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text, annotations: [] }],
      },
    ],
  }),
  messages: (answer, text) => ({
    ...answer,
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
  }),
  'generate content': (answer, text) => ({
    ...answer,
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
  }),
  converse: (answer, text) => ({
    ...answer,
    output: { message: { role: 'assistant', content: [{ text }] } },
    stopReason: 'end_turn',
  }),
  ollama: (answer, text) =>
    'response' in answer
      ? { ...answer, response: text }
      : { ...answer, message: { role: 'assistant', content: text } },
}

/** What an answer has beside what was said, where none was recorded whose form could be taken. */
const FRAMES: Readonly<Record<string, (model: string) => JsonRecord>> = {
  'chat completions': (model) => ({
    id: 'chatcmpl-neutral',
    object: 'chat.completion',
    created: 0,
    model,
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  }),
  responses: (model) => ({
    id: 'resp_neutral',
    object: 'response',
    created_at: 0,
    model,
    error: null,
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  }),
  messages: (model) => ({
    id: 'msg_neutral',
    type: 'message',
    role: 'assistant',
    model,
    usage: { input_tokens: 0, output_tokens: 0 },
  }),
}

/**
 * The answer of a model, in the form of its API, that says this text and nothing else.
 * It costs nothing: its counts are 0. `undefined` for an API whose form is not known.
 */
export function modelAnswer(exchange: Exchange, recorded: unknown, text: string): unknown {
  const { api, request, response } = exchange
  const say = FORMATS[api]
  if (say === undefined) return undefined
  const isAnswer = response !== undefined && response.status < 400 && isRecord(recorded)
  const { model } = record(request.json)
  const frame = isAnswer ? recorded : FRAMES[api]?.(typeof model === 'string' ? model : '')
  return frame && withoutCounts(say(frame, text))
}

const COUNTS = ['usage', 'usageMetadata', 'eval_count', 'prompt_eval_count']

function withoutCounts(answer: JsonRecord): JsonRecord {
  const entries = Object.entries(answer).map(([key, value]) =>
    COUNTS.includes(key) ? [key, zeroed(value)] : [key, value],
  )
  return Object.fromEntries(entries) as JsonRecord
}

function zeroed(value: unknown): unknown {
  if (typeof value === 'number') return 0
  if (Array.isArray(value)) return value.map(zeroed)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, zeroed(each)]))
}
