import { recordOf, type JsonRecord } from '../../values/json-shape.js'
import type { AnswerFormat, ScriptedFormat, StreamEvent } from '../provider.js'
import { callId, cutReply, replyId, type Finish, type Reply } from '../reply.js'
import type { FailedRequest, ReplyRequest, ScriptedError } from '../reply.js'
import { jsonAnswer, retryHeaders, scriptedFormat, streamAnswer } from '../wire-answer.js'
import type { WireAnswer } from '../wire-answer.js'
import { openaiDialect } from './chat-dialect.js'
import { checkChat, checkResponse } from './check.js'
import { assembleChat, chatChunks, restreamChat } from './chat-stream.js'
import { assembleResponse, restreamResponse } from './responses-stream.js'

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  tool: 'tool_calls',
  filter: 'content_filter',
}

/** A whole completion in the dialect of a server; some models on Bedrock return the same. */
export const encodeCompletion = (
  reply: Reply,
  { dialect = openaiDialect, stream }: ReplyRequest,
): JsonRecord => {
  const { text, reasoning, toolCalls, finish } = reply
  const calls = toolCalls.map(({ name, args }, index) => ({
    id: dialect.callId(reply, index),
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }))
  const said = dialect.say({ text, ...(reasoning !== '' && { reasoning }) })
  return {
    id: replyId(reply, dialect.idPrefix),
    created: reply.created,
    model: reply.model,
    ...dialect.head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          ...said,
          ...(said['content'] === '' && calls.length > 0 && { content: null }),
          refusal: null,
          ...(!stream && { annotations: [] }),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: FINISH[finish],
      },
    ],
    usage: dialect.usage(reply.usage),
  }
}

/** The chunks of a streamed completion, without the mark of its end. */
export const completionChunks = (reply: Reply, request: ReplyRequest): JsonRecord[] => {
  const { dialect = openaiDialect, body } = request
  const { usage, ...completion } = encodeCompletion(reply, { ...request, stream: true })
  const isRequested = recordOf(body['stream_options'])['include_usage'] === true
  const position =
    dialect.streamUsage === 'last chunk' ? 'last chunk' : isRequested ? 'own chunk' : 'nowhere'
  const isGroq = dialect.streamUsage === 'x_groq'
  const whole = isGroq ? completion : { ...completion, usage }
  const cut = cutReply(reply)
  const chunks = chatChunks(whole, position, (text) =>
    dialect.hasWholeCalls && text !== reply.text ? [text] : cut(text),
  ).slice(0, -1) as JsonRecord[]
  if (!isGroq) return chunks
  const id = replyId(reply, 'req_')
  return chunks.map((chunk, index) => ({
    ...chunk,
    ...(index === 0 && { x_groq: { id } }),
    ...(index === chunks.length - 1 && { x_groq: { id, usage } }),
  }))
}

const requestId = (reply: Reply) => ({ 'x-request-id': replyId(reply, 'req_') })

export const chatAnswers: AnswerFormat = {
  assemble: assembleChat,
  restream: restreamChat,
  check: checkChat,
  encode: encodeCompletion,
  outputFields: ['choices'],
  closing: { data: '[DONE]' },
}

export const scriptedChat: ScriptedFormat = {
  format: 'openai-chat',
  path: /\/chat\/completions$/,
  answer: (reply, request) => {
    if (!request.stream) return jsonAnswer(encodeCompletion(reply, request), requestId(reply))
    const chunks = [...completionChunks(reply, request), '[DONE]']
    const events = chunks.map((data): StreamEvent => ({ data }))
    return streamAnswer(chatAnswers, events, requestId(reply))
  },
}

/** Why a response is incomplete; other finishes complete it. */
const INCOMPLETE: Readonly<Partial<Record<Finish, string>>> = {
  length: 'max_output_tokens',
  filter: 'content_filter',
}

const statusOf = ({ finish }: Reply): string =>
  INCOMPLETE[finish] === undefined ? 'completed' : 'incomplete'

const encodeResponse = (reply: Reply, { body }: ReplyRequest): JsonRecord => {
  const { usage } = reply
  const reason = INCOMPLETE[reply.finish]
  const input = usage.input + usage.cachedInput + usage.cacheWrite
  return {
    id: replyId(reply, 'resp_'),
    object: 'response',
    created_at: reply.created,
    status: statusOf(reply),
    background: false,
    completed_at: reply.created,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: null,
    model: reply.model,
    output: outputItems(reply),
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    previous_response_id: body['previous_response_id'] ?? null,
    prompt_cache_key: null,
    reasoning: body['reasoning'] ?? { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: body['store'] ?? true,
    temperature: body['temperature'] ?? 1,
    text: body['text'] ?? { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_logprobs: 0,
    top_p: body['top_p'] ?? 1,
    truncation: 'disabled',
    usage: {
      input_tokens: input,
      input_tokens_details: {
        cached_tokens: usage.cachedInput,
        ...(usage.cacheWrite > 0 && { cache_write_tokens: usage.cacheWrite }),
      },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: input + usage.output,
    },
    user: null,
    metadata: body['metadata'] ?? {},
  }
}

const outputItems = (reply: Reply): JsonRecord[] => [
  ...(reply.reasoning === ''
    ? []
    : [
        {
          id: replyId(reply, 'rs_'),
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: reply.reasoning }],
        },
      ]),
  ...(reply.text === '' && reply.toolCalls.length > 0
    ? []
    : [
        {
          id: replyId(reply, 'msg_'),
          type: 'message',
          status: statusOf(reply),
          content: [{ type: 'output_text', annotations: [], logprobs: [], text: reply.text }],
          role: 'assistant',
        },
      ]),
  ...reply.toolCalls.map(({ name, args }, index) => ({
    id: `${replyId(reply, 'fc_')}${String(index + 1).padStart(2, '0')}`,
    type: 'function_call',
    status: 'completed',
    arguments: JSON.stringify(args),
    call_id: callId(reply, index, 'call_'),
    name,
  })),
]

export const responseAnswers: AnswerFormat = {
  assemble: assembleResponse,
  restream: restreamResponse,
  check: checkResponse,
  encode: encodeResponse,
  outputFields: ['output', 'status', 'incomplete_details'],
}

export const scriptedResponses = scriptedFormat({
  format: 'openai-responses',
  path: /\/responses$/,
  answers: responseAnswers,
  headers: requestId,
})

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
}

/** An error as OpenAI and compatible servers report it. */
export const openaiFailure = (error: ScriptedError, request: FailedRequest): WireAnswer => {
  const { message, status, code = null } = error
  const { dialect = openaiDialect } = request
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return jsonAnswer(
    dialect.errorBody({ message, type, param: null, code }),
    { 'x-request-id': replyId(request, 'req_'), ...retryHeaders(error) },
    status,
  )
}
