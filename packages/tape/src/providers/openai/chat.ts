import type { HeaderPair } from '../../format/events.js'
import { headerValue } from '../../http/http1.js'
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
import {
  draftAt,
  type Draft,
  eventData,
  inOrder,
  setUnlessNull,
} from '../specification/assemble.js'
import { filledList, jsonText, list, oneOf, optional } from '../specification/check.js'
import { type Check, shape, string, usage } from '../specification/check.js'
import { mergeParts, type Message, type MessagePart, otherPart } from '../specification/message.js'
import { resultContent, saidParts, textPart } from '../specification/message.js'
import type {
  AnswerFormat,
  DecodedResponse,
  ModelApi,
  ProviderRequest,
} from '../specification/provider.js'
import type { StreamEvent, StreamOptions } from '../specification/provider.js'
import {
  type CutText,
  cutReply,
  type FailedRequest,
  type Finish,
  type Reply,
} from '../specification/reply.js'
import {
  replyId,
  type ReplyRequest,
  type ScriptedError,
  textPieces,
} from '../specification/reply.js'
import { type Usage, usageFromTotals } from '../specification/usage.js'
import { unpricedTier } from '../specification/price.js'
import {
  jsonAnswer,
  retryHeaders,
  streamAnswer,
  type WireAnswer,
} from '../specification/wire-answer.js'
import { openaiDialect } from '../specification/chat-dialect.js'

const ROLES: Readonly<Record<string, Message['role']>> = {
  system: 'system',
  developer: 'developer',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
}

export const roleOf = (role: unknown): Message['role'] => ROLES[textOf(role)] ?? 'user'

/** Content of a message in either OpenAI API: text, or a list of typed parts. */
export const contentParts = (content: unknown): MessagePart[] =>
  typeof content === 'string' ? saidParts({ text: content }) : recordsOf(content).map(contentPart)

const contentPart = (part: JsonRecord): MessagePart => {
  const kind = textOf(part['type'])
  switch (kind) {
    case 'text':
    case 'input_text':
    case 'output_text':
    case 'summary_text':
      return textPart(textOf(part['text']))
    case 'thinking': {
      // Mistral's reasoning is a list of texts.
      const texts = recordsOf(part['thinking']).map((each) => textOf(each['text']))
      return { type: 'reasoning', text: optionalText(part['thinking']) ?? texts.join('') }
    }
    case 'refusal':
      return textPart(textOf(part['refusal']))
    case 'image_url':
    case 'input_image': {
      const image = part['image_url']
      const url = optionalText(image) ?? textOf(recordOf(image)['url'])
      const source = url || textOf(part['file_id'])
      // For an inline image, only its type, because the data can be megabytes.
      const isInline = url.startsWith('data:')
      return { type: 'image', source: isInline ? url.slice(5, url.indexOf(',')) : source }
    }
    default:
      return otherPart(kind, part)
  }
}

/** The model of a request; Azure names the deployment in the path. */
export const requestedModel = ({ url }: ProviderRequest, body: JsonRecord): string | undefined =>
  filledText(body['model']) ?? /\/deployments\/([^/]+)\//.exec(url.pathname)?.[1]

/** Google's compatible server includes thoughts only in the total; they are billed as output. */
const withThoughts = (completion: JsonRecord): JsonRecord => {
  const given = recordOf(completion['usage'])
  const input = countOf(given['prompt_tokens'])
  const said = countOf(given['completion_tokens'])
  const total = countOf(given['total_tokens'])
  if (input === undefined || said === undefined || total === undefined) return completion
  const thoughts = total - input - said
  if (thoughts <= 0 || given['completion_tokens_details'] !== undefined) return completion
  const details = { reasoning_tokens: thoughts }
  const counted = { completion_tokens: said + thoughts, completion_tokens_details: details }
  return { ...completion, usage: { ...given, ...counted } }
}

/** Also decodes the answers of many models on Bedrock. */
export const decodeCompletion = (
  completion: JsonRecord,
  headers: readonly HeaderPair[] = [],
): DecodedResponse => {
  const choices = recordsOf(completion['choices'])
  const [first = {}] = choices
  // Routers report a failure in the middle of an answer inside the choice, Groq next to it.
  const candidates = [completion, ...choices, recordOf(completion['x_groq'])]
  const [error] = candidates.flatMap((each) => errorMessage({ error: each['error'] }) ?? [])
  // LiteLLM reports a cost of 0 for a model without a price.
  const cost = Number(headerValue(headers, 'x-litellm-response-cost') ?? Number.NaN)
  return defined({
    model: filledText(completion['model']),
    messages: choices.map(decodeChoice),
    usage: decodeChatUsage(completion),
    finishReason: optionalText(first['finish_reason']) ?? optionalText(first['stop_reason']),
    error: error ?? (choices.length === 0 ? errorMessage(completion) : undefined),
    costUsd: reportedCost(completion) ?? (Number.isFinite(cost) && cost > 0 ? cost : undefined),
    servedBy: filledText(completion['provider']),
  })
}

const decodeChoice = (choice: JsonRecord): Message => {
  const { role, parts } = decodeMessage(recordOf(choice['message']), 'assistant')
  const filter = choice['content_filter_results']
  const isFiltered = Object.values(recordOf(filter)).some(
    (result) => recordOf(result)['filtered'] === true,
  )
  return { role, parts: isFiltered ? [...parts, otherPart('content_filter', filter)] : parts }
}

export const decodeMessage = (message: JsonRecord, fallback?: Message['role']): Message => {
  const role = roleOf(message['role'] ?? fallback)
  if (role === 'tool') {
    const id = textOf(message['tool_call_id'] ?? message['name'])
    const content = resultContent(message['content'])
    return { role: 'tool', parts: [{ type: 'tool_result', id, content }] }
  }
  // vLLM, DeepSeek and xAI use `reasoning_content`; Groq and OpenRouter `reasoning` or
  // `reasoning_details`.
  const details = recordsOf(message['reasoning_details'])
  const reasoning =
    filledText(message['reasoning_content']) ??
    filledText(message['reasoning']) ??
    details.map((detail) => textOf(detail['text'] ?? detail['summary'])).join('')
  const parts: MessagePart[] = [
    ...saidParts({ reasoning }),
    ...mergeParts(contentParts(message['content'])),
    ...saidParts({ text: textOf(message['refusal']) }),
    ...recordsOf(message['tool_calls']).map(decodeToolCall),
    // Servers that fill in every field send an empty function name if none was called.
    ...(filledText(recordOf(message['function_call'])['name']) === undefined
      ? []
      : [decodeToolCall({ function: message['function_call'] })]),
  ]
  return { role, parts }
}

const decodeToolCall = (call: JsonRecord): MessagePart => {
  const custom = recordOf(call['custom'])
  const isCustom = filledText(custom['name']) !== undefined
  const { name, arguments: written, input } = isCustom ? custom : recordOf(call['function'])
  // Mistral and Ollama may send parsed arguments.
  const given = typeof written === 'string' ? parseArguments(written) : (written ?? {})
  const args = isCustom ? input : given
  // Before calls had ids, a result referred to the function by name.
  return { type: 'tool_call', id: textOf(call['id'] ?? name), name: textOf(name), args }
}

/** Tokens of a chat completion, under the field names of OpenAI and compatible servers. */
const decodeChatUsage = (completion: JsonRecord): Usage | undefined => {
  const given = usageRecord(completion)
  const allInput = countOf(given['prompt_tokens'])
  const said = countOf(given['completion_tokens'])
  if (allInput === undefined || said === undefined) return undefined
  const inputDetails = recordOf(given['prompt_tokens_details'])
  const outputDetails = recordOf(given['completion_tokens_details'])
  const total = countOf(given['total_tokens'])
  const reasoning =
    countOf(outputDetails['reasoning_tokens']) ?? countOf(given['reasoning_tokens']) ?? 0
  // xAI does not include reasoning in the completion count, all others do; the total shows which.
  const isBeside = reasoning > 0 && total === allInput + said + reasoning
  const isSpoken = [inputDetails, outputDetails].some(
    (details) => (countOf(details['audio_tokens']) ?? 0) > 0,
  )
  const hasRunTools = recordsOf(completion['choices']).some(
    ({ message }) => recordsOf(recordOf(message)['executed_tools']).length > 0,
  )
  return usageFromTotals({
    allInput,
    cachedInput:
      countOf(inputDetails['cached_tokens']) ?? countOf(given['prompt_cache_hit_tokens']) ?? 0,
    cacheWrite:
      countOf(inputDetails['cache_write_tokens']) ??
      countOf(given['cache_creation_input_tokens']) ??
      0,
    output: isBeside ? said + reasoning : said,
    reasoning,
    total,
    unpriced: [
      ...(isSpoken ? ['audio tokens'] : []),
      ...(hasRunTools ? ['tools run by the provider'] : []),
      // Mistral reports the tier in the usage.
      ...unpricedTier({ ...given, ...completion }),
    ],
  })
}

/** Groq puts the usage of a stream where OpenAI's clients do not look. */
const usageRecord = ({ usage: given, x_groq }: JsonRecord): JsonRecord =>
  isRecord(given) ? given : recordOf(recordOf(x_groq)['usage'])

/** xAI reports its charge in ticks. */
const TICKS_PER_DOLLAR = 1e10

/**
 * The cost that the answer reports. OpenRouter reports dollars; with the user's own key it charges
 * a fee, and reports the model's price separately.
 */
export const reportedCost = (completion: JsonRecord): number | undefined => {
  const given = usageRecord(completion)
  const ticks = countOf(given['cost_in_usd_ticks'])
  if (ticks !== undefined) return ticks / TICKS_PER_DOLLAR
  const cost = countOf(given['cost'])
  if (cost === undefined || given['is_byok'] !== true) return cost
  const upstream = countOf(recordOf(given['cost_details'])['upstream_inference_cost'])
  return upstream === undefined ? undefined : cost + upstream
}

/** Texts of a message that arrive in pieces after the chunk with its role; everything else comes whole. */
const STREAMED = ['reasoning_content', 'reasoning', 'content', 'refusal']

type UsagePosition = 'own chunk' | 'last chunk' | 'nowhere'

/** Chunks of a completion, and the end marker. */
const chatChunks = (
  completion: JsonRecord,
  usagePosition: UsagePosition,
  cut: CutText,
): (JsonRecord | string)[] => {
  const { choices, usage: spent, object: _, error, ...head } = completion
  const position = spent === undefined || spent === null ? 'nowhere' : usagePosition
  const pending = position === 'own chunk' ? { usage: null } : {}
  const chunk = (list: readonly unknown[], more: JsonRecord = pending): JsonRecord => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: list,
    ...more,
  })
  const pieces = recordsOf(choices).flatMap((choice, index) => choicePieces(choice, index, cut))
  const chunks = pieces.map((piece, at) =>
    chunk(
      [piece],
      position === 'last chunk' && at === pieces.length - 1 ? { usage: spent } : pending,
    ),
  )
  if (position === 'own chunk') chunks.push(chunk([], { usage: spent }))
  return [...chunks, error === undefined || error === null ? '[DONE]' : { error }]
}

/**
 * Usage is sent where the recorded stream had it, and omitted if it had none: a client that did not
 * request usage may not expect a chunk without choices.
 */
const usagePositionIn = ({ events, request }: StreamOptions): UsagePosition => {
  if (events.length === 0) return isUsageRequested(request) ? 'own chunk' : 'nowhere'
  const carrier = eventData(events).findLast((event) => isRecord(event['usage']))
  if (carrier === undefined) return 'nowhere'
  return recordsOf(carrier['choices']).length === 0 ? 'own chunk' : 'last chunk'
}

const isUsageRequested = (request: unknown): boolean =>
  recordOf(recordOf(request)['stream_options'])['include_usage'] === true

/** The chunks of one choice: role, texts, calls, and the finish reason. */
const choicePieces = (choice: JsonRecord, position: number, cut: CutText): JsonRecord[] => {
  const { index = position, message, finish_reason = null, logprobs, ...others } = choice
  const { tool_calls, function_call, ...fields } = recordOf(message)
  const silent = logprobs === undefined ? {} : { logprobs: null }
  const opening = Object.entries(fields).map(([key, value]) => [
    key,
    STREAMED.includes(key) && typeof value === 'string' ? '' : value,
  ])
  const deltas = [
    Object.fromEntries(opening) as JsonRecord,
    ...STREAMED.flatMap((key) => {
      const { [key]: said } = fields
      return typeof said === 'string' ? cut(said).map((part) => ({ [key]: part })) : []
    }),
    ...recordsOf(tool_calls).flatMap((call, at) =>
      callPieces(call, cut).map((part) => ({ tool_calls: [{ index: at, ...part }] })),
    ),
    ...(isRecord(function_call) ? functionPieces('function_call', function_call, {}, cut) : []),
  ]
  return [
    ...deltas.map((delta) => ({ index, delta, ...silent, finish_reason: null })),
    { index, delta: {}, ...defined({ logprobs }), ...others, finish_reason },
  ]
}

const callPieces = (call: JsonRecord, cut: CutText): JsonRecord[] => {
  const { function: called, custom, ...fields } = call
  if (isRecord(custom)) return functionPieces('custom', custom, fields, cut)
  return isRecord(called) ? functionPieces('function', called, fields, cut) : [fields]
}

/** The name with empty arguments, then the pieces; a single piece is sent with the name. */
const functionPieces = (
  key: string,
  called: JsonRecord,
  fields: JsonRecord,
  cut: CutText,
): JsonRecord[] => {
  const name = key === 'custom' ? 'input' : 'arguments'
  const { [name]: written } = called
  const pieces = typeof written === 'string' ? cut(written) : []
  if (typeof written !== 'string' || pieces.length === 1) return [{ ...fields, [key]: called }]
  return [
    { ...fields, [key]: { ...called, [name]: '' } },
    ...pieces.map((part) => ({ [key]: { [name]: part } })),
  ]
}

interface ChoiceDraft {
  readonly fields: Draft
  readonly message: Draft
  readonly calls: Map<number, Draft>
}

/** Padding and framing of a chunk, which are not part of the completion. */
const OF_CHUNK = new Set(['object', 'choices', 'obfuscation'])

export const assembleChat = (events: readonly SseEvent[]): JsonRecord => {
  const rest: Draft = {}
  const choices = new Map<number, ChoiceDraft>()
  for (const chunk of eventData(events)) {
    for (const [key, value] of Object.entries(chunk))
      if (!OF_CHUNK.has(key)) setUnlessNull(rest, key, value)
    for (const choice of recordsOf(chunk['choices'])) addChoice(choices, choice)
  }
  const { id, created, model, ...others } = rest
  return {
    ...defined({ id, object: 'chat.completion', created, model }),
    choices: inOrder(choices).map(([index, draft]) => closeChoice(index, draft)),
    ...others,
  }
}

const addChoice = (choices: Map<number, ChoiceDraft>, choice: JsonRecord): void => {
  const { index, delta, logprobs, ...fields } = choice
  const draft = draftAt(choices, countOf(index) ?? 0, () => ({
    fields: {},
    message: {},
    calls: new Map(),
  }))
  for (const [key, value] of Object.entries(fields)) setUnlessNull(draft.fields, key, value)
  if (logprobs !== undefined) addLogprobs(draft.fields, logprobs)
  for (const [key, value] of Object.entries(recordOf(delta))) {
    if (key === 'tool_calls') for (const part of recordsOf(value)) addToolCall(draft, part)
    else if (key === 'function_call') addFunction(draft.message, key, value)
    else addField(draft.message, key, value)
  }
}

const addField = (message: Draft, key: string, value: unknown): void => {
  const { [key]: earlier } = message
  // Mistral switches between text and a list of parts within one answer.
  const isListed = key === 'content' && (Array.isArray(earlier) || Array.isArray(value))
  if (isListed) message[key] = [...partsOf(earlier), ...partsOf(value)]
  else if (STREAMED.includes(key) && typeof value === 'string')
    message[key] = textOf(earlier) + value
  else if (Array.isArray(value)) message[key] = [...listOf(earlier), ...listOf(value)]
  else setUnlessNull(message, key, value)
}

const partsOf = (content: unknown): readonly unknown[] =>
  typeof content === 'string' && content !== ''
    ? [{ type: 'text', text: content }]
    : listOf(content)

/** Appends the lists of log probabilities for the content and for a refusal. */
const addLogprobs = (fields: Draft, logprobs: unknown): void => {
  const { logprobs: earlier } = fields
  if (!isRecord(logprobs) || !isRecord(earlier)) return setUnlessNull(fields, 'logprobs', logprobs)
  const grown: Draft = { ...earlier }
  for (const [key, value] of Object.entries(logprobs)) addField(grown, key, value)
  fields['logprobs'] = grown
}

const addToolCall = ({ calls }: ChoiceDraft, part: JsonRecord): void => {
  const { index: given, ...fields } = part
  const index = countOf(given)
  const { id, function: called } = fields
  // Gemini's compatible server gives every call the index 0; a new id with a name starts another
  // call.
  const known = index === undefined ? undefined : calls.get(index)
  const isOther = textOf(id) !== '' && textOf(known?.['id']) !== '' && id !== known?.['id']
  const isNew = index === undefined || (isOther && textOf(recordOf(called)['name']) !== '')
  const at = isNew ? Math.max(-1, ...calls.keys()) + 1 : index
  const call = draftAt(calls, at, (): Draft => ({}))
  for (const [key, value] of Object.entries(fields)) {
    if (key === 'function' || key === 'custom') addFunction(call, key, value)
    else if (call[key] === undefined || call[key] === '') call[key] = value
  }
}

/** Name, arguments and input come in pieces. */
const addFunction = (target: Draft, key: string, value: unknown): void => {
  const made: Draft = { ...recordOf(target[key]) }
  for (const [name, piece] of Object.entries(recordOf(value))) {
    if (typeof piece === 'string') made[name] = textOf(made[name]) + piece
    else setUnlessNull(made, name, piece)
  }
  target[key] = made
}

const closeChoice = (index: number, { fields, message, calls }: ChoiceDraft): JsonRecord => {
  const { finish_reason = null, ...others } = fields
  const toolCalls = inOrder(calls).map(([, { id, type, ...call }]) => ({
    ...defined({ id }),
    // Some servers omit the type of a function.
    type: type ?? (call['custom'] === undefined ? 'function' : 'custom'),
    ...call,
  }))
  return {
    index,
    message: { ...message, ...(toolCalls.length > 0 && { tool_calls: toolCalls }) },
    ...others,
    finish_reason,
  }
}

const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call']

const checkCall: Check = (call, path) =>
  shape({
    id: string,
    type: oneOf('function', 'custom'),
    ...(recordOf(call)['type'] === 'custom'
      ? { custom: shape({ name: string, input: string }) }
      : { function: shape({ name: string, arguments: jsonText }) }),
  })(call, path)

const checkMessage = shape({
  role: oneOf('assistant'),
  content: optional((content, path) => (Array.isArray(content) ? [] : string(content, path))),
  tool_calls: optional(list(checkCall)),
})

const checkChoice = shape(
  { finish_reason: oneOf(...FINISH_REASONS), message: checkMessage },
  ({ finish_reason: reason, message }, at) =>
    reason === 'tool_calls' && isRecord(message) && listOf(message['tool_calls']).length === 0
      ? [`${at('finish_reason')} is "tool_calls", but the message has none`]
      : [],
)

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  tool: 'tool_calls',
  filter: 'content_filter',
}

/** A whole completion in the dialect of a server. Some models on Bedrock use the same format. */
export const encodeCompletion = (
  reply: Reply,
  { dialect = openaiDialect, stream }: ReplyRequest,
): JsonRecord => {
  const { reasoning, toolCalls, finish } = reply
  const calls = toolCalls.map(({ name, args }, index) => ({
    id: dialect.callId(reply, index),
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }))
  const said = dialect.say({ text: reply.text, ...(reasoning !== '' && { reasoning }) })
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

/** The chunks of a streamed completion, without the end marker. */
export const completionChunks = (reply: Reply, request: ReplyRequest): JsonRecord[] => {
  const { dialect = openaiDialect, body } = request
  const { usage: spent, ...completion } = encodeCompletion(reply, { ...request, stream: true })
  const { streamUsage } = dialect
  const requested = isUsageRequested(body) ? 'own chunk' : 'nowhere'
  const isGroq = streamUsage === 'x_groq'
  const cut = cutReply(reply)
  const chunks = chatChunks(
    isGroq ? completion : { ...completion, usage: spent },
    streamUsage === 'last chunk' ? streamUsage : requested,
    (said) => (dialect.hasWholeCalls && said !== reply.text ? [said] : cut(said)),
  ).slice(0, -1) as JsonRecord[]
  if (!isGroq) return chunks
  const id = replyId(reply, 'req_')
  return chunks.map((chunk, index) => ({
    ...chunk,
    ...(index === 0 && { x_groq: { id } }),
    ...(index === chunks.length - 1 && { x_groq: { id, usage: spent } }),
  }))
}

export const requestId = (reply: { readonly number: number }) => ({
  'x-request-id': replyId(reply, 'req_'),
})

const chatAnswers: AnswerFormat = {
  assemble: assembleChat,
  restream: (completion, options) =>
    chatChunks(completion, usagePositionIn(options), options.cut ?? textPieces).map((data) => ({
      data,
    })),
  check: shape({
    id: optional(string),
    model: optional(string),
    choices: filledList(checkChoice),
    usage: optional(usage('prompt_tokens', 'completion_tokens')),
  }),
  encode: encodeCompletion,
  outputFields: ['choices'],
  closing: { data: '[DONE]' },
}

/** Chat Completions, as defined by OpenAI and used by many servers. */
export const openaiChat: ModelApi = {
  provider: 'openai',
  api: 'chat completions',
  conversation: ['messages'],

  matches: ({ method, url, mentions }) =>
    method === 'POST' &&
    url.pathname.endsWith('/chat/completions') &&
    (url.hostname === 'api.openai.com' || mentions('messages')),

  decodeRequest: (request) => {
    const body = recordOf(request.json())
    return defined({
      model: requestedModel(request, body),
      stream: body['stream'] === true,
      messages: recordsOf(body['messages']).map((message) => decodeMessage(message)),
    })
  },

  decodeResponse: ({ json, events, headers }, request) => {
    const completion = events === undefined ? recordOf(json) : assembleChat(events)
    const isGoogle = /(^|\.)googleapis\.com$/.test(request?.url.hostname ?? '')
    return decodeCompletion(isGoogle ? withThoughts(completion) : completion, headers)
  },

  answers: chatAnswers,
  scripted: [
    {
      format: 'openai-chat',
      path: /\/chat\/completions$/,
      answer: (reply, request) => {
        if (!request.stream) return jsonAnswer(encodeCompletion(reply, request), requestId(reply))
        const chunks = [...completionChunks(reply, request), '[DONE]']
        const events = chunks.map((data): StreamEvent => ({ data }))
        return streamAnswer(chatAnswers, events, requestId(reply))
      },
    },
  ],
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
}

export const openaiFailure = (error: ScriptedError, request: FailedRequest): WireAnswer => {
  const { message, status, code = null } = error
  const { dialect = openaiDialect } = request
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return jsonAnswer(
    dialect.errorBody({ message, type, param: null, code }),
    { ...requestId(request), ...retryHeaders(error) },
    status,
  )
}
