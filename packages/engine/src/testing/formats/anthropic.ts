import { callId, replyId } from '../reply.js'
import type { Reply } from '../reply.js'
import type { Finish, ScriptedError, ScriptedUsage } from '../scripted-answer.js'
import { jsonAnswer, retryHeaders, sseAnswer } from '../wire-format.js'
import type { Failed, WireAnswer, WireFormat } from '../wire-format.js'

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  filter: 'refusal',
}

/** Anthropic's messages, also as Vertex takes them. */
export const anthropic: WireFormat = {
  name: 'anthropic',
  path: /\/messages$|:(stream)?rawPredict$/i,
  answer: (reply, request) => {
    const headers = { 'request-id': replyId(reply, 'req_') }
    return request.stream
      ? sseAnswer(
          messageEvents(reply).map((data) => ({ event: data.type, data })),
          headers,
        )
      : jsonAnswer(messageOf(reply), headers)
  },
  failure: anthropicFailure,
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** An error as Anthropic tells it. */
export function anthropicFailure(error: ScriptedError, request: Failed): WireAnswer {
  const { status, message } = error
  const type =
    error.code ?? ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  const id = replyId(request, 'req_')
  const body = { type: 'error', error: { type, message }, request_id: id }
  return jsonAnswer(body, { 'request-id': id, ...retryHeaders(error) }, status)
}

/** The whole message; Bedrock gives the same when Claude is invoked there. */
export const messageOf = (reply: Reply): object => ({
  ...headOf(reply),
  content: [
    ...(reply.reasoning === ''
      ? []
      : [{ type: 'thinking', thinking: reply.reasoning, signature: signatureOf(reply) }]),
    ...(reply.text === '' ? [] : [{ type: 'text', text: reply.text }]),
    ...reply.toolCalls.map(({ name, args }, index) => ({
      type: 'tool_use',
      id: callId(reply, index, 'toolu_'),
      name,
      input: args,
    })),
  ],
  stop_reason: FINISH[reply.finish],
  stop_sequence: null,
  usage: usageOf(reply.usage),
})

export type MessageEvent = { readonly type: string } & Readonly<Record<string, unknown>>

/** The events of a streamed message. */
export function messageEvents(reply: Reply): MessageEvent[] {
  const usage = usageOf(reply.usage)
  const blocks = [
    ...(reply.reasoning === '' ? [] : [thinkingBlock(reply)]),
    ...(reply.text === '' ? [] : [textBlock(reply.pieces)]),
    ...reply.toolCalls.map((call, at) => toolBlock(call, callId(reply, at, 'toolu_'))),
  ]
  return [
    {
      type: 'message_start',
      message: {
        ...headOf(reply),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...usage, output_tokens: 1 },
      },
    },
    { type: 'ping' },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: FINISH[reply.finish], stop_sequence: null },
      usage: {
        input_tokens: reply.usage.input,
        cache_creation_input_tokens: reply.usage.cacheWrite,
        cache_read_input_tokens: reply.usage.cachedInput,
        output_tokens: reply.usage.output,
      },
    },
    { type: 'message_stop' },
  ]
}

interface Block {
  readonly start: object
  readonly deltas: readonly object[]
}

const thinkingBlock = (reply: Reply): Block => ({
  start: { type: 'thinking', thinking: '', signature: '' },
  deltas: [
    { type: 'thinking_delta', thinking: reply.reasoning },
    { type: 'signature_delta', signature: signatureOf(reply) },
  ],
})

const textBlock = (pieces: readonly string[]): Block => ({
  start: { type: 'text', text: '' },
  deltas: pieces.map((text) => ({ type: 'text_delta', text })),
})

const toolBlock = ({ name, pieces }: Reply['toolCalls'][number], id: string): Block => ({
  start: { type: 'tool_use', id, name, input: {} },
  deltas: ['', ...pieces].map((text) => ({ type: 'input_json_delta', partial_json: text })),
})

const headOf = (reply: Reply): object => ({
  model: reply.model,
  id: replyId(reply, 'msg_'),
  type: 'message',
  role: 'assistant',
})

/** Clients send it back with the thought; nobody checks it here. */
const signatureOf = (reply: Reply): string =>
  Buffer.from(replyId(reply, 'scripted-')).toString('base64')

const usageOf = (usage: ScriptedUsage): object => ({
  input_tokens: usage.input,
  cache_creation_input_tokens: usage.cacheWrite,
  cache_read_input_tokens: usage.cachedInput,
  cache_creation: {
    ephemeral_5m_input_tokens: usage.cacheWrite,
    ephemeral_1h_input_tokens: 0,
  },
  output_tokens: usage.output,
  service_tier: 'standard',
})
