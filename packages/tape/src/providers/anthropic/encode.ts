import { isRecord, type JsonRecord, recordsOf } from '../../values/json-shape.js'
import type { AnswerFormat } from '../provider.js'
import {
  callId,
  type FailedRequest,
  type Finish,
  hasText,
  type Reply,
  replyId,
  type ScriptedError,
  type ScriptedUsage,
} from '../reply.js'
import { jsonAnswer, retryHeaders, scriptedFormat, type WireAnswer } from '../wire-answer.js'
import { assembleMessage, restreamMessage } from './stream.js'
import { Problems } from '../problems.js'

const STOP_REASONS = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
]

/** What makes it no message of Anthropic's API. */
const checkMessage = (answer: unknown): string[] => {
  const problems = new Problems()
  const message = problems.record('the answer', answer)
  if (message === undefined) return problems.list
  const { content, stop_reason: reason, usage } = message
  problems.text('id', message['id'])
  problems.text('model', message['model'])
  problems.oneOf('type', message['type'], ['message'])
  problems.oneOf('role', message['role'], ['assistant'])
  problems.oneOf('stop_reason', reason, STOP_REASONS)
  for (const [path, block] of problems.records('content', content))
    checkBlock(problems, path, block)
  const calls = recordsOf(content).filter(({ type }) => type === 'tool_use')
  if (reason === 'tool_use' && calls.length === 0)
    problems.add('stop_reason', 'is "tool_use", but no block is one')
  const counts = problems.record('usage', usage)
  if (counts !== undefined) {
    problems.count('usage.input_tokens', counts['input_tokens'])
    problems.count('usage.output_tokens', counts['output_tokens'])
    problems.counts('usage', counts)
  }
  return problems.list
}

const checkBlock = (problems: Problems, path: string, block: JsonRecord): void => {
  switch (block['type']) {
    case 'text':
      problems.text(`${path}.text`, block['text'])
      break
    case 'thinking':
      problems.text(`${path}.thinking`, block['thinking'])
      problems.text(`${path}.signature`, block['signature'])
      break
    case 'tool_use':
    case 'server_tool_use':
      problems.text(`${path}.id`, block['id'])
      problems.text(`${path}.name`, block['name'])
      if (!isRecord(block['input'])) problems.add(`${path}.input`, 'is not an object')
      break
    default:
      problems.text(`${path}.type`, block['type'])
  }
}

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  filter: 'refusal',
}

/** A whole message; Bedrock returns the same when Claude is invoked there. */
const encodeMessage = (reply: Reply): JsonRecord => ({
  model: reply.model,
  id: replyId(reply, 'msg_'),
  type: 'message',
  role: 'assistant',
  content: [
    ...(reply.reasoning === ''
      ? []
      : [{ type: 'thinking', thinking: reply.reasoning, signature: signatureOf(reply) }]),
    ...(hasText(reply) ? [{ type: 'text', text: reply.text }] : []),
    ...reply.toolCalls.map(({ name, args }, index) => ({
      type: 'tool_use',
      id: callId(reply, index, 'toolu_'),
      name,
      input: args,
    })),
  ],
  stop_reason: FINISH[reply.finish],
  stop_sequence: null,
  usage: encodeUsage(reply.usage),
})

/** Clients send it back with the thought; the test model server does not check it. */
const signatureOf = (reply: Reply): string => btoa(replyId(reply, 'scripted-'))

const encodeUsage = (usage: ScriptedUsage): JsonRecord => ({
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

export const messageAnswers: AnswerFormat = {
  assemble: assembleMessage,
  restream: restreamMessage,
  check: checkMessage,
  encode: encodeMessage,
  outputFields: ['content', 'stop_reason', 'stop_sequence'],
  closing: { event: 'message_stop', data: { type: 'message_stop' } },
}

/** At Anthropic, and at Vertex. */
export const scriptedMessages = scriptedFormat({
  format: 'anthropic',
  path: /\/messages$|:(stream)?rawPredict$/i,
  answers: messageAnswers,
  headers: (reply) => ({ 'request-id': replyId(reply, 'req_') }),
})

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

export const anthropicFailure = (error: ScriptedError, request: FailedRequest): WireAnswer => {
  const { status, message } = error
  const type =
    error.code ?? ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  const id = replyId(request, 'req_')
  const body = { type: 'error', error: { type, message }, request_id: id }
  return jsonAnswer(body, { 'request-id': id, ...retryHeaders(error) }, status)
}
