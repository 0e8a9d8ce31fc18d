import type { SseEvent } from '../../http/sse.js'
import {
  countOf,
  defined,
  errorMessage,
  filledText,
  isRecord,
} from '../../format/values/json-shape.js'
import {
  type JsonRecord,
  listOf,
  optionalText,
  parseArguments,
} from '../../format/values/json-shape.js'
import { recordOf, recordsOf, textOf } from '../../format/values/json-shape.js'
import { eventData, inOrder } from '../specification/assemble.js'
import { byType, type Check, jsonText, list, oneOf, optional } from '../specification/check.js'
import { shape, string, usage } from '../specification/check.js'
import { joinTurns, type Message, type MessagePart, otherPart } from '../specification/message.js'
import { resultContent, saidParts, turnOf } from '../specification/message.js'
import type { AnswerFormat, DecodedResponse, ModelApi } from '../specification/provider.js'
import type { StreamEvent, StreamOptions } from '../specification/provider.js'
import { callId, type CutText, type Finish, type Reply, replyId } from '../specification/reply.js'
import { type ReplyRequest, textPieces } from '../specification/reply.js'
import { usageFromTotals, type Usage } from '../specification/usage.js'
import { unpricedTier } from '../specification/price.js'
import { scriptedFormat } from '../specification/wire-answer.js'
import { contentParts, reportedCost, requestId, roleOf } from './chat.js'

const decodeAnswer = (response: JsonRecord): DecodedResponse => {
  const status = optionalText(response['status'])
  const isOpen = status === 'in_progress' || status === 'queued'
  return defined({
    model: filledText(response['model']),
    messages: joinItems(response['output']),
    usage: decodeUsage(response),
    finishReason:
      optionalText(recordOf(response['incomplete_details'])['reason']) ??
      (isOpen ? undefined : status),
    error: errorMessage(response),
    costUsd: reportedCost(response),
  })
}

/** One turn of the assistant consists of several items: reasoning, text, calls. */
const joinItems = (items: unknown): Message[] =>
  joinTurns(recordsOf(items).map(decodeItem), ['assistant'])

const decodeItem = (item: JsonRecord): Message => {
  const kind = textOf(item['type'] ?? 'message')
  if (kind === 'message')
    return { role: roleOf(item['role']), parts: contentParts(item['content']) }
  if (kind.endsWith('_call_output')) {
    const content = resultContent(item['output'])
    return { role: 'tool', parts: [{ type: 'tool_result', id: textOf(item['call_id']), content }] }
  }
  return { role: 'assistant', parts: [decodeTurnPart(kind, item)] }
}

const decodeTurnPart = (kind: string, item: JsonRecord): MessagePart => {
  const id = textOf(item['call_id'])
  const name = textOf(item['name'])
  switch (kind) {
    case 'function_call':
      return { type: 'tool_call', id, name, args: parseArguments(textOf(item['arguments'])) }
    case 'custom_tool_call':
      return { type: 'tool_call', id, name, args: item['input'] }
    case 'reasoning': {
      const parts = [...recordsOf(item['summary']), ...recordsOf(item['content'])]
      return { type: 'reasoning', text: parts.map((part) => textOf(part['text'])).join('\n') }
    }
    default: {
      if (!CLIENT_CALLS.test(kind) || isHosted(item)) return otherPart(kind, item)
      const args = item['action'] ?? item['operation'] ?? item['actions'] ?? {}
      return { type: 'tool_call', id, name: kind.replace(/_call$/, ''), args }
    }
  }
}

/** Tools that run at the provider cost extra. */
const HOSTED_CALLS = /^(web_search|x_search|file_search|code_interpreter|image_generation)_call$/
/** Tools that OpenAI defines but the client executes, each with its own fields. */
const CLIENT_CALLS = /^(shell|local_shell|apply_patch|computer)_call$/

/** A shell may also run in the provider's container. */
const isHosted = ({ type, environment }: JsonRecord): boolean =>
  HOSTED_CALLS.test(textOf(type)) ||
  (type === 'shell_call' && textOf(recordOf(environment)['type']).startsWith('container'))

const decodeUsage = (response: JsonRecord): Usage | undefined => {
  const given = recordOf(response['usage'])
  const allInput = countOf(given['input_tokens'])
  const output = countOf(given['output_tokens'])
  if (allInput === undefined || output === undefined) return undefined
  const inputDetails = recordOf(given['input_tokens_details'])
  const hosted = recordsOf(response['output'])
    .filter(isHosted)
    .map(({ type }) => textOf(type))
  return usageFromTotals({
    allInput,
    cachedInput: countOf(inputDetails['cached_tokens']) ?? 0,
    cacheWrite: countOf(inputDetails['cache_write_tokens']) ?? 0,
    output,
    reasoning: countOf(recordOf(given['output_tokens_details'])['reasoning_tokens']) ?? 0,
    total: countOf(given['total_tokens']),
    unpriced: [...new Set(hosted), ...unpricedTier(response)],
  })
}

interface ResponseEvent extends JsonRecord {
  readonly type: string
}

/** Fields that are null until the response is done. */
const AT_END = ['usage', 'completed_at', 'incomplete_details', 'error']
const FINAL = ['completed', 'incomplete', 'failed']

/**
 * Texts that stream into an item, by the type of the item; both are part of the event names, such
 * as `response.function_call_arguments.delta`.
 */
const ITEM_TEXTS: Readonly<Record<string, string>> = {
  function_call: 'arguments',
  mcp_call: 'arguments',
  custom_tool_call: 'input',
}

/** Texts that stream into a part of an item, by the type of the part, which is part of the event names. */
const PART_TEXTS: Readonly<Record<string, string>> = {
  output_text: 'text',
  refusal: 'refusal',
  reasoning_text: 'text',
}

const restreamResponse = (
  response: JsonRecord,
  { cut = textPieces }: StreamOptions,
): StreamEvent[] => {
  const open: Record<string, unknown> = { ...response, status: 'in_progress', output: [] }
  for (const key of AT_END) if (Object.hasOwn(open, key)) open[key] = null
  // Added by clients, not sent by the API.
  delete open['output_text']
  const status = textOf(response['status'])
  const events: ResponseEvent[] = [
    { type: 'response.created', response: open },
    { type: 'response.in_progress', response: open },
    ...recordsOf(response['output']).flatMap((item, index) => {
      const position = { item_id: textOf(item['id']) || `item_${index}`, output_index: index }
      const { start, middle } = streamedItem(item, position, cut)
      const status = Object.hasOwn(item, 'status') ? { status: 'in_progress' } : {}
      return [
        { type: 'response.output_item.added', output_index: index, item: { ...start, ...status } },
        ...middle,
        { type: 'response.output_item.done', output_index: index, item },
      ]
    }),
    { type: `response.${FINAL.includes(status) ? status : 'completed'}`, response },
  ]
  return events.map(({ type, ...event }, index) => ({
    event: type,
    data: { type, sequence_number: index, ...event },
  }))
}

/** The item as it is announced, and the events that fill it; an item of an unknown kind comes whole. */
const streamedItem = (
  item: JsonRecord,
  position: JsonRecord,
  cut: CutText,
): { start: JsonRecord; middle: ResponseEvent[] } => {
  const kind = textOf(item['type'])
  if (kind === 'message' || kind === 'reasoning') {
    const isOpen = kind === 'message' || Array.isArray(item['content'])
    return {
      start: {
        ...item,
        ...(kind === 'reasoning' && { summary: [] }),
        ...(isOpen && { content: [] }),
      },
      middle: [
        ...(kind === 'reasoning' ? summaryEvents(item, position, cut) : []),
        ...contentEvents(item, position, cut),
      ],
    }
  }
  const { [kind]: key = '' } = ITEM_TEXTS
  const { [key]: said } = item
  if (typeof said !== 'string') return { start: item, middle: [] }
  const named = kind === 'function_call' ? { name: item['name'] } : {}
  return {
    start: { ...item, [key]: '' },
    middle: textEvents(`response.${kind}_${key}`, position, cut(said), { ...named, [key]: said }),
  }
}

const textEvents = (
  event: string,
  position: JsonRecord,
  pieces: readonly string[],
  done: JsonRecord,
  more: JsonRecord = {},
): ResponseEvent[] => [
  ...pieces.map((delta) => ({ type: `${event}.delta`, ...position, delta, ...more })),
  { type: `${event}.done`, ...position, ...done },
]

/** Parts of a message or of open reasoning: added, filled, done. */
const contentEvents = (item: JsonRecord, position: JsonRecord, cut: CutText): ResponseEvent[] =>
  recordsOf(item['content']).flatMap((part, content_index) => {
    const at = { ...position, content_index }
    const [start, middle] = streamedPart(part, at, cut)
    return [
      { type: 'response.content_part.added', ...at, part: start },
      ...middle,
      { type: 'response.content_part.done', ...at, part },
    ]
  })

const streamedPart = (
  part: JsonRecord,
  at: JsonRecord,
  cut: CutText,
): [start: JsonRecord, ResponseEvent[]] => {
  const kind = textOf(part['type'])
  const { [kind]: key = '' } = PART_TEXTS
  const { [key]: said, annotations } = part
  if (typeof said !== 'string') return [part, []]
  const more = kind === 'output_text' ? { logprobs: [] } : {}
  const added = listOf(annotations).map((annotation, annotation_index) => ({
    type: 'response.output_text.annotation.added',
    ...at,
    annotation_index,
    annotation,
  }))
  const events = textEvents(`response.${kind}`, at, cut(said), { [key]: said, ...more }, more)
  return [
    { ...part, [key]: '', ...(annotations !== undefined && { annotations: [] }) },
    events.toSpliced(-1, 0, ...added),
  ]
}

const summaryEvents = (item: JsonRecord, position: JsonRecord, cut: CutText): ResponseEvent[] =>
  recordsOf(item['summary']).flatMap((part, summary_index) => {
    const at = { ...position, summary_index }
    const said = textOf(part['text'])
    return [
      { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
      ...textEvents('response.reasoning_summary_text', at, cut(said), { text: said }),
      { type: 'response.reasoning_summary_part.done', ...at, part },
    ]
  })

/** The last event has the whole response; a stream that broke off is assembled from its items. */
const assembleResponse = (events: readonly SseEvent[]): JsonRecord => {
  let response: JsonRecord = {}
  const items = new Map<number, JsonRecord>()
  for (const event of eventData(events)) {
    const kind = textOf(event['type'])
    const index = countOf(event['output_index']) ?? 0
    if (isRecord(event['response'])) response = event['response']
    else if (kind === 'error') response = { ...response, error: event['error'] ?? event['message'] }
    else if (isRecord(event['item'])) items.set(index, event['item'])
    else if (kind.endsWith('.delta') || kind.endsWith('.added'))
      items.set(index, extendItem(items.get(index) ?? {}, kind, event))
  }
  const isFinal = recordsOf(response['output']).length > 0 || items.size === 0
  return isFinal ? response : { ...response, output: inOrder(items).map(([, item]) => item) }
}

const extendItem = (item: JsonRecord, kind: string, event: JsonRecord): JsonRecord => {
  const { delta, part, annotation } = event
  const [, name = ''] = /^response\.(\w+)\.delta$/.exec(kind) ?? []
  for (const [type, key] of Object.entries(ITEM_TEXTS))
    if (name === `${type}_${key}`) return { ...item, [key]: textOf(item[key]) + textOf(delta) }
  const list = kind.includes('.reasoning_summary_') ? 'summary' : 'content'
  const at = countOf(event[list === 'summary' ? 'summary_index' : 'content_index']) ?? 0
  if (kind.endsWith('_part.added')) return withPart(item, list, at, () => part)
  if (kind === 'response.output_text.annotation.added')
    return withPart(item, list, at, (said) => ({
      ...said,
      annotations: [...listOf(said['annotations']), annotation],
    }))
  const type = list === 'summary' ? 'summary_text' : name
  const key = list === 'summary' ? 'text' : PART_TEXTS[name]
  if (key === undefined) return item
  return withPart(item, list, at, (said) => ({
    type,
    ...said,
    [key]: textOf(said[key]) + textOf(delta),
  }))
}

/** Parts come in order; a part that was never announced is appended. */
const withPart = (
  item: JsonRecord,
  list: string,
  index: number,
  change: (part: JsonRecord) => unknown,
): JsonRecord => {
  const parts = [...listOf(item[list])]
  const at = Math.min(index, parts.length)
  parts[at] = change(recordOf(parts[at]))
  return { ...item, [list]: parts }
}

const STATUSES = ['completed', 'incomplete', 'failed', 'in_progress', 'queued', 'cancelled']

const checkPart: Check = (part, path) => {
  const { type } = recordOf(part)
  return shape({
    type: oneOf('output_text', 'refusal'),
    ...(type === 'output_text' && { text: string }),
    ...(type === 'refusal' && { refusal: string }),
  })(part, path)
}

const checkResponse = shape({
  id: string,
  object: oneOf('response'),
  status: oneOf(...STATUSES),
  output: list(
    byType({
      message: { role: oneOf('assistant'), content: list(checkPart) },
      function_call: { call_id: string, name: string, arguments: jsonText },
      custom_tool_call: { call_id: string, name: string, input: string },
      reasoning: { summary: list(shape({ text: string })) },
    }),
  ),
  usage: optional(usage('input_tokens', 'output_tokens')),
})

/** Why a response is incomplete; other finish reasons complete it. */
const INCOMPLETE: Readonly<Partial<Record<Finish, string>>> = {
  length: 'max_output_tokens',
  filter: 'content_filter',
}

const encodeResponse = (reply: Reply, { body }: ReplyRequest): JsonRecord => {
  const { usage: spent } = reply
  const reason = INCOMPLETE[reply.finish]
  const status = reason === undefined ? 'completed' : 'incomplete'
  const input = spent.input + spent.cachedInput + spent.cacheWrite
  return {
    id: replyId(reply, 'resp_'),
    object: 'response',
    created_at: reply.created,
    status,
    background: false,
    completed_at: reply.created,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: null,
    model: reply.model,
    output: outputItems(reply, status),
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
        cached_tokens: spent.cachedInput,
        ...(spent.cacheWrite > 0 && { cache_write_tokens: spent.cacheWrite }),
      },
      output_tokens: spent.output,
      output_tokens_details: { reasoning_tokens: spent.reasoning },
      total_tokens: input + spent.output,
    },
    user: null,
    metadata: body['metadata'] ?? {},
  }
}

const outputItems = (reply: Reply, status: string): JsonRecord[] => {
  const summary = [{ type: 'summary_text', text: reply.reasoning }]
  const content = [{ type: 'output_text', annotations: [], logprobs: [], text: reply.text }]
  const said = { id: replyId(reply, 'msg_'), type: 'message', status, content, role: 'assistant' }
  return [
    ...(reply.reasoning === '' ? [] : [{ id: replyId(reply, 'rs_'), type: 'reasoning', summary }]),
    ...(reply.text === '' && reply.toolCalls.length > 0 ? [] : [said]),
    ...reply.toolCalls.map(({ name, args }, index) => ({
      id: `${replyId(reply, 'fc_')}${String(index + 1).padStart(2, '0')}`,
      type: 'function_call',
      status: 'completed',
      arguments: JSON.stringify(args),
      call_id: callId(reply, index, 'call_'),
      name,
    })),
  ]
}

const responseAnswers: AnswerFormat = {
  assemble: assembleResponse,
  restream: restreamResponse,
  check: checkResponse,
  encode: encodeResponse,
  outputFields: ['output', 'status', 'incomplete_details'],
}

/** OpenAI's Responses API. A conversation stored on the server is not on the tape, so it is not shown. */
export const openaiResponses: ModelApi = {
  provider: 'openai',
  api: 'responses',
  conversation: ['instructions', 'input'],

  matches: ({ method, url, mentions }) =>
    method === 'POST' &&
    url.pathname.endsWith('/responses') &&
    (url.hostname === 'api.openai.com' || mentions('model', 'input')),

  decodeRequest: ({ json }) => {
    const body = recordOf(json())
    const { input } = body
    return defined({
      model: optionalText(body['model']),
      stream: body['stream'] === true,
      messages: [
        ...turnOf('system', saidParts({ text: textOf(body['instructions']) })),
        ...(typeof input === 'string'
          ? [{ role: 'user', parts: [{ type: 'text', text: input }] } as const]
          : joinItems(input)),
      ],
    })
  },

  decodeResponse: ({ json, events }) =>
    decodeAnswer(events === undefined ? recordOf(json) : assembleResponse(events)),

  answers: responseAnswers,
  scripted: [
    scriptedFormat({
      format: 'openai-responses',
      path: /\/responses$/,
      answers: responseAnswers,
      headers: requestId,
    }),
  ],
}
