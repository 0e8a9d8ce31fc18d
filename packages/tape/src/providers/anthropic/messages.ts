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
import { appendText, type Draft, eventData, inOrder } from '../specification/assemble.js'
import { byType, list, object, oneOf, shape, string, usage } from '../specification/check.js'
import { joinTurns, type Message, type MessagePart, otherPart } from '../specification/message.js'
import { resultContent, saidParts, textPart, turnOf } from '../specification/message.js'
import type { AnswerFormat, ModelApi } from '../specification/provider.js'
import type { StreamEvent, StreamOptions } from '../specification/provider.js'
import {
  callId,
  type CutText,
  type FailedRequest,
  type Finish,
  hasText,
} from '../specification/reply.js'
import { type Reply, replyId, type ScriptedError, textPieces } from '../specification/reply.js'
import { addUsage, type Usage } from '../specification/usage.js'
import { unpricedTier } from '../specification/price.js'
import {
  jsonAnswer,
  retryHeaders,
  scriptedFormat,
  type WireAnswer,
} from '../specification/wire-answer.js'

const VERTEX_PATH = /\/models\/([^/:]+):(?:stream)?rawPredict$/i
/** Vertex charges more for a specific region, depending on the model. */
const VERTEX_REGION = /\/locations\/([^/]+)\/.*:(?:stream)?rawPredict$/i

/** Tool results are part of a user message, but shown as messages of the tool. */
const decodeMessage = (message: JsonRecord): Message[] => {
  const parts = contentParts(message['content'])
  const { role: given } = message
  const role = given === 'assistant' || given === 'system' ? given : 'user'
  if (role === 'assistant' || parts.length === 0) return [{ role, parts }]
  const turns = parts.map((part): Message => ({
    role: part.type === 'tool_result' ? 'tool' : role,
    parts: [part],
  }))
  return joinTurns(turns, ['tool', role])
}

const contentParts = (content: unknown): MessagePart[] =>
  typeof content === 'string' ? saidParts({ text: content }) : recordsOf(content).map(contentPart)

const contentPart = (block: JsonRecord): MessagePart => {
  const kind = textOf(block['type'])
  switch (kind) {
    case 'text':
      return textPart(textOf(block['text']))
    case 'thinking':
    case 'redacted_thinking':
      return { type: 'reasoning', text: textOf(block['thinking']) }
    case 'tool_use': {
      const { id, name, input } = block
      return { type: 'tool_call', id: textOf(id), name: textOf(name), args: input }
    }
    case 'tool_result':
      return {
        type: 'tool_result',
        id: textOf(block['tool_use_id']),
        content: resultContent(block['content']),
        ...(block['is_error'] === true && { isError: true }),
      }
    case 'image': {
      const { url, media_type, file_id } = recordOf(block['source'])
      return { type: 'image', source: textOf(url ?? media_type ?? file_id) }
    }
    default:
      return otherPart(kind, block)
  }
}

/**
 * The counts of an answer exclude requests to other models, and tokens spent on compacting the
 * conversation, which are listed separately.
 */
const decodeMessageUsage = (message: JsonRecord): Usage | undefined => {
  const given = recordOf(message['usage'])
  const counted = decodeUsage(given)
  if (counted === undefined) return undefined
  const rounds = recordsOf(given['iterations'])
  const shortened = rounds.filter(({ type }) => type === 'compaction').map(decodeUsage)
  const others = rounds.some(({ model }) => model !== undefined && model !== message['model'])
  const ranCode = recordsOf(message['content']).some(
    ({ type, name }) => type === 'server_tool_use' && textOf(name).includes('code_execution'),
  )
  const all = shortened.filter((round) => round !== undefined).reduce(addUsage, counted)
  return {
    ...all,
    unpriced: [
      ...all.unpriced,
      ...(others ? ['other models'] : []),
      ...(ranCode ? ['code execution'] : []),
    ],
  }
}

/** The input count excludes tokens read from or written to the cache. */
const decodeUsage = (given: JsonRecord): Usage | undefined => {
  const input = countOf(given['input_tokens'])
  const output = countOf(given['output_tokens'])
  if (input === undefined || output === undefined) return undefined
  const written = recordOf(given['cache_creation'])
  const short = countOf(written['ephemeral_5m_input_tokens'])
  const long = countOf(written['ephemeral_1h_input_tokens']) ?? 0
  const cacheWrite = countOf(given['cache_creation_input_tokens']) ?? (short ?? 0) + long
  const isOdd = short !== undefined && short + long !== cacheWrite
  const searches = countOf(recordOf(given['server_tool_use'])['web_search_requests']) ?? 0
  return {
    input,
    cachedInput: countOf(given['cache_read_input_tokens']) ?? 0,
    cacheWrite,
    cacheWriteLong: Math.min(long, cacheWrite),
    output,
    reasoning: countOf(recordOf(given['output_tokens_details'])['thinking_tokens']) ?? 0,
    unpriced: [
      ...(searches > 0 ? ['web searches'] : []),
      ...(given['speed'] === 'fast' ? ['fast mode'] : []),
      ...(given['inference_geo'] === 'us' ? ['inference in the US'] : []),
      ...unpricedTier(given),
    ],
    ...(isOdd && { mismatch: `${cacheWrite} cache writes where the parts make ${short + long}` }),
  }
}

/** Null until the message ends. */
const AT_END = ['stop_reason', 'stop_sequence', 'stop_details', 'container', 'context_management']
/** Counts that the end of a message repeats. */
const TOTALS = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
  'server_tool_use',
  'output_tokens_details',
]

interface MessageEvent extends JsonRecord {
  readonly type: string
}

const restreamMessage = (message: JsonRecord, options: StreamOptions): StreamEvent[] => {
  const { error, ...whole } = message
  const { cut = textPieces } = options
  const blocks = recordsOf(whole['content']).flatMap((block, index) => {
    const { start, deltas } = streamedBlock(block, cut)
    return [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]
  })
  const ending = AT_END.filter((key) => Object.hasOwn(whole, key))
  const start: Draft = { ...whole, content: [] }
  for (const key of ending) start[key] = null
  const first = eventData(options.events).find(({ type }) => type === 'message_start')
  const said = countOf(recordOf(recordOf(first?.['message'])['usage'])['output_tokens']) ?? 1
  if (isRecord(whole['usage'])) start['usage'] = { ...whole['usage'], output_tokens: said }
  const events: MessageEvent[] = [{ type: 'message_start', message: start }, ...blocks]
  if (error !== undefined && error !== null) events.push({ type: 'error', error })
  else {
    const delta = Object.fromEntries(ending.map((key) => [key, whole[key]]))
    const totals = Object.entries(recordOf(whole['usage'])).filter(
      ([key, value]) => TOTALS.includes(key) && value !== null,
    )
    events.push({ type: 'message_delta', delta, usage: Object.fromEntries(totals) })
    events.push({ type: 'message_stop' })
  }
  return events.map((data) => ({ event: data.type, data }))
}

/** A block at its start, and its deltas; a block of an unknown kind comes whole. */
const streamedBlock = (
  block: JsonRecord,
  cut: CutText,
): { start: JsonRecord; deltas: readonly JsonRecord[] } => {
  const { type, text: said, thinking, signature, citations, input } = block
  if (type === 'text' && typeof said === 'string') {
    const sources = listOf(citations).map((citation) => ({ type: 'citations_delta', citation }))
    return {
      start: { ...block, text: '', ...(sources.length > 0 && { citations: [] }) },
      deltas: [...cut(said).map((piece) => ({ type: 'text_delta', text: piece })), ...sources],
    }
  }
  if (type === 'thinking' && typeof thinking === 'string') {
    const isSigned = typeof signature === 'string'
    return {
      start: { ...block, thinking: '', ...(isSigned && { signature: '' }) },
      deltas: [
        ...cut(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
        ...(isSigned ? [{ type: 'signature_delta', signature }] : []),
      ],
    }
  }
  if (!isRecord(input)) return { start: block, deltas: [] }
  const pieces = Object.keys(input).length === 0 ? [] : cut(JSON.stringify(input))
  return {
    start: { ...block, input: {} },
    deltas: ['', ...pieces].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
  }
}

const assembleMessage = (events: readonly SseEvent[]): JsonRecord => {
  let message: Draft = {}
  const blocks = new Map<number, Draft>()
  for (const event of eventData(events)) {
    const index = countOf(event['index']) ?? 0
    switch (event['type']) {
      case 'message_start':
        message = { ...recordOf(event['message']) }
        break
      case 'content_block_start':
        blocks.set(index, { ...recordOf(event['content_block']) })
        break
      case 'content_block_delta':
        extendBlock(blocks.get(index) ?? {}, recordOf(event['delta']))
        break
      case 'message_delta':
        message = {
          ...message,
          ...recordOf(event['delta']),
          usage: mergeUsage(recordOf(message['usage']), recordOf(event['usage'])),
        }
        break
      case 'error':
        message['error'] = event['error']
        break
    }
  }
  // Input that streamed in as text is parsed; input that came whole stays.
  return {
    ...message,
    content: inOrder(blocks).map(([, block]) =>
      typeof block['input'] === 'string'
        ? { ...block, input: parseArguments(block['input']) }
        : block,
    ),
  }
}

const extendBlock = (block: Draft, delta: JsonRecord): void => {
  switch (delta['type']) {
    case 'text_delta':
      return appendText(block, 'text', delta['text'])
    case 'thinking_delta':
      return appendText(block, 'thinking', delta['thinking'])
    case 'input_json_delta':
      return appendText(block, 'input', delta['partial_json'])
    case 'signature_delta':
      block['signature'] = delta['signature']
      break
    case 'citations_delta':
      block['citations'] = [...listOf(block['citations']), delta['citation']]
  }
}

/** Counts in a delta are running totals; missing ones do not change. */
const mergeUsage = (earlier: JsonRecord, later: JsonRecord): JsonRecord => {
  const named = Object.entries(later).filter(([, value]) => value !== null)
  const merged: Draft = { ...earlier, ...Object.fromEntries(named) }
  // Hosted tools write more to the cache later: the total grows, its parts do not.
  const { cache_creation_input_tokens: total } = earlier
  const isStale =
    merged['cache_creation_input_tokens'] !== total && !isRecord(later['cache_creation'])
  if (isStale && recordOf(merged['cache_creation'])['ephemeral_1h_input_tokens'] === 0)
    delete merged['cache_creation']
  return merged
}

const STOP_REASONS = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
]

const TOOL_USE = { id: string, name: string, input: object }

const checkMessage = shape(
  {
    id: string,
    model: string,
    type: oneOf('message'),
    role: oneOf('assistant'),
    stop_reason: oneOf(...STOP_REASONS),
    content: list(
      byType({
        text: { text: string },
        thinking: { thinking: string, signature: string },
        tool_use: TOOL_USE,
        server_tool_use: TOOL_USE,
      }),
    ),
    usage: usage('input_tokens', 'output_tokens'),
  },
  ({ content, stop_reason: reason }) =>
    reason === 'tool_use' && !recordsOf(content).some(({ type }) => type === 'tool_use')
      ? ['stop_reason is "tool_use", but no block is one']
      : [],
)

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  filter: 'refusal',
}

/** A whole message. Bedrock uses the same format for Claude. */
// Clients send the signature back with the thought; the test model server does not check it.
const encodeMessage = (reply: Reply): JsonRecord => ({
  model: reply.model,
  id: replyId(reply, 'msg_'),
  type: 'message',
  role: 'assistant',
  content: [
    ...(reply.reasoning === ''
      ? []
      : [
          {
            type: 'thinking',
            thinking: reply.reasoning,
            signature: btoa(replyId(reply, 'scripted-')),
          },
        ]),
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
  usage: {
    input_tokens: reply.usage.input,
    cache_creation_input_tokens: reply.usage.cacheWrite,
    cache_read_input_tokens: reply.usage.cachedInput,
    cache_creation: {
      ephemeral_5m_input_tokens: reply.usage.cacheWrite,
      ephemeral_1h_input_tokens: 0,
    },
    output_tokens: reply.usage.output,
    service_tier: 'standard',
  },
})

export const messageAnswers: AnswerFormat = {
  assemble: assembleMessage,
  restream: restreamMessage,
  check: checkMessage,
  encode: encodeMessage,
  outputFields: ['content', 'stop_reason', 'stop_sequence'],
  closing: { event: 'message_stop', data: { type: 'message_stop' } },
}

/** Anthropic's Messages API, at Anthropic, behind Vertex paths, or from a compatible server. */
export const messagesApi: ModelApi = {
  provider: 'anthropic',
  api: 'messages',
  conversation: ['system', 'messages'],

  matches: ({ method, url, headers, mentions }) => {
    if (method !== 'POST') return false
    if (url.pathname.endsWith('/messages')) {
      const isNamed = headers.some(([name]) => name.toLowerCase() === 'anthropic-version')
      return isNamed || mentions('model', 'messages')
    }
    return VERTEX_PATH.test(url.pathname) && mentions('anthropic_version', 'messages')
  },

  decodeRequest: ({ url, json }) => {
    const body = recordOf(json())
    return defined({
      model: optionalText(body['model']) ?? VERTEX_PATH.exec(url.pathname)?.[1],
      stream: body['stream'] === true,
      messages: [
        ...turnOf('system', contentParts(body['system'])),
        ...recordsOf(body['messages']).flatMap(decodeMessage),
      ],
    })
  },

  decodeResponse: ({ json, events }, request) => {
    const message = events === undefined ? recordOf(json) : assembleMessage(events)
    const isWhole = message['type'] === 'message' || Array.isArray(message['content'])
    const decoded = defined({
      model: filledText(message['model']),
      messages: turnOf('assistant', contentParts(message['content'])),
      usage: decodeMessageUsage(message),
      finishReason: optionalText(message['stop_reason']),
      error: errorMessage(isWhole ? { error: message['error'] } : message),
    })
    const region = VERTEX_REGION.exec(request?.url.pathname ?? '')?.[1]
    if (decoded.usage === undefined || region === undefined || region === 'global') return decoded
    const unpriced = [...decoded.usage.unpriced, `endpoint in ${region}`]
    return { ...decoded, usage: { ...decoded.usage, unpriced } }
  },

  answers: messageAnswers,
  scripted: [
    scriptedFormat({
      format: 'anthropic',
      path: /\/messages$|:(stream)?rawPredict$/i,
      answers: messageAnswers,
      headers: (reply) => ({ 'request-id': replyId(reply, 'req_') }),
    }),
  ],
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

export const anthropicFailure = (error: ScriptedError, request: FailedRequest): WireAnswer => {
  const { status, message } = error
  const type =
    error.code ?? ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  const id = replyId(request, 'req_')
  const body = { type: 'error', error: { type, message }, request_id: id }
  return jsonAnswer(body, { 'request-id': id, ...retryHeaders(error) }, status)
}
