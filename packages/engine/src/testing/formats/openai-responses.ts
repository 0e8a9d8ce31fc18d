import type { ModelRequest } from '../model-request.js'
import { callId, replyId } from '../reply.js'
import type { Reply } from '../reply.js'
import type { Finish } from '../scripted-answer.js'
import { jsonAnswer, sseAnswer } from '../wire-format.js'
import type { WireFormat } from '../wire-format.js'
import { openaiFailure } from './openai-failure.js'
import { itemEvents } from './response-events.js'
import type { StreamedItem } from './response-events.js'

/** OpenAI's responses. */
export const openaiResponses: WireFormat = {
  name: 'openai-responses',
  path: /\/responses$/,
  answer: (reply, request) => {
    const headers = { 'x-request-id': replyId(reply, 'req_') }
    const items = itemsOf(reply)
    const response = responseOf(reply, request, items)
    if (!request.stream) return jsonAnswer(response, headers)
    const open = { ...response, status: 'in_progress', output: [], usage: null }
    const end = response.status === 'completed' ? 'response.completed' : 'response.incomplete'
    const events = [
      { type: 'response.created', response: open },
      { type: 'response.in_progress', response: open },
      ...items.flatMap(itemEvents),
      { type: end, response },
    ]
    return sseAnswer(
      events.map((event, index) => ({
        event: event.type,
        data: { ...event, sequence_number: index },
      })),
      headers,
    )
  },
  failure: openaiFailure,
}

function responseOf(reply: Reply, { body }: ModelRequest, items: readonly StreamedItem[]) {
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
    output: items.map(({ item }) => item),
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

/** Why a response ended before its end; it is complete otherwise. */
const INCOMPLETE: Readonly<Partial<Record<Finish, string>>> = {
  length: 'max_output_tokens',
  filter: 'content_filter',
}

const statusOf = ({ finish }: Reply): string =>
  INCOMPLETE[finish] === undefined ? 'completed' : 'incomplete'

const itemsOf = (reply: Reply): StreamedItem[] => [
  ...(reply.reasoning === '' ? [] : [reasoningItem(reply)]),
  ...(reply.text === '' && reply.toolCalls.length > 0 ? [] : [messageItem(reply)]),
  ...reply.toolCalls.map((call, index) => callItem(reply, call, index)),
]

const reasoningItem = (reply: Reply): StreamedItem => ({
  item: {
    id: replyId(reply, 'rs_'),
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: reply.reasoning }],
  },
  pieces: [reply.reasoning],
})

const messageItem = (reply: Reply): StreamedItem => ({
  item: {
    id: replyId(reply, 'msg_'),
    type: 'message',
    status: statusOf(reply),
    content: [{ type: 'output_text', annotations: [], logprobs: [], text: reply.text }],
    role: 'assistant',
  },
  pieces: reply.pieces,
})

const callItem = (
  reply: Reply,
  { name, args, pieces }: Reply['toolCalls'][number],
  index: number,
): StreamedItem => ({
  item: {
    id: `${replyId(reply, 'fc_')}${String(index + 1).padStart(2, '0')}`,
    type: 'function_call',
    status: 'completed',
    arguments: JSON.stringify(args),
    call_id: callId(reply, index, 'call_'),
    name,
  },
  pieces,
})
