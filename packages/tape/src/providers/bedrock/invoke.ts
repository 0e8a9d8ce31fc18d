import { toBase64 } from '../../format/values/bytes.js'
import { headerValue } from '../../http/http1.js'
import { countOf, defined, errorMessage, type JsonRecord } from '../../format/values/json-shape.js'
import { listOf, optionalText, parseJson, recordOf } from '../../format/values/json-shape.js'
import { recordsOf, textOf } from '../../format/values/json-shape.js'
import { messageAnswers, messagesApi } from '../anthropic/messages.js'
import { eventData } from '../specification/assemble.js'
import { embeddingVector, textsIn } from '../specification/embedding.js'
import {
  type Message,
  type MessagePart,
  saidParts,
  textPart,
  turnOf,
} from '../specification/message.js'
import { assembleChat, completionChunks, decodeCompletion } from '../openai/chat.js'
import { decodeMessage, encodeCompletion } from '../openai/chat.js'
import type { DecodedResponse, ProviderAnswer, ProviderRequest } from '../specification/provider.js'
import type { AnswerFormat, ModelApi } from '../specification/provider.js'
import {
  cutReply,
  replyId,
  tokensOf,
  type Reply,
  type ReplyRequest,
} from '../specification/reply.js'
import { NO_USAGE, type Usage } from '../specification/usage.js'
import { jsonAnswer, streamAnswer, type WireAnswer } from '../specification/wire-answer.js'
import { assembleConverse, bedrockPath, converseAnswers } from './converse.js'
import { decodeConversation, decodeConverse, streamError } from './converse.js'

const BODIES = ['messages', 'prompt', 'inputText', 'message', 'texts']

/**
 * Bedrock's `invoke`, where each model family has its own body: Claude, Nova, Llama, Titan, Cohere,
 * Mistral, and those with chat completions. The family is detected from the body, because the id
 * may only name a profile.
 */
export const bedrockInvoke: ModelApi = {
  provider: 'bedrock',
  api: 'invoke model',
  conversation: [
    'system',
    'messages',
    'prompt',
    'inputText',
    'message',
    'preamble',
    'chat_history',
    'texts',
    'tool_results',
  ],

  matches: ({ method, url, mentions }) =>
    method === 'POST' &&
    bedrockPath(url)?.action === 'invoke' &&
    BODIES.some((key) => mentions(key)),

  decodeRequest: (request) => {
    const path = bedrockPath(request.url)
    return defined({
      model: path?.model,
      stream: path?.stream === true,
      messages: decodeMessages(request),
    })
  },

  decodeResponse: (answer) => {
    // Uses the model of the request, because its id says where the model ran.
    const { model: _, ...decoded } = decodeBody(answer)
    const { status, json, events } = answer
    const failed = status >= 400 ? errorMessage(json) : undefined
    return defined({
      ...decoded,
      usage: decoded.usage ?? meteredUsage(answer),
      error: decoded.error ?? (events === undefined ? failed : streamError(events)),
    })
  },

  scripted: [
    {
      format: 'bedrock-invoke',
      path: /\/model\/.+\/invoke(-with-response-stream)?$/,
      isComputed: ({ body, model = '' }) => 'texts' in body || model.includes('embed'),
      answer: (reply, request) =>
        request.stream ? encodeStream(reply, request) : encodeWhole(reply, request),
    },
  ],
}

const decodeMessages = (request: ProviderRequest): readonly Message[] => {
  const body = recordOf(request.json())
  const messages = recordsOf(body['messages'])
  if (body['anthropic_version'] !== undefined) return messagesApi.decodeRequest(request).messages
  if (messages.length === 0) return decodeTextRequest(body)
  const isUntyped = messages.some(({ content }) =>
    recordsOf(content).some(({ type }) => type === undefined),
  )
  return isUntyped ? decodeConversation(body) : messages.map((message) => decodeMessage(message))
}

const decodeTextRequest = (body: JsonRecord): Message[] => {
  const { prompt, inputText, message, preamble } = body
  const turn = (role: Message['role'], text: unknown): Message => ({
    role,
    parts: [textPart(textOf(text))],
  })
  const prompted = optionalText(prompt ?? inputText ?? message)
  return [
    ...(typeof preamble === 'string' ? [turn('system', preamble)] : []),
    ...recordsOf(body['chat_history']).map((said) =>
      turn(said['role'] === 'CHATBOT' ? 'assistant' : 'user', said['message']),
    ),
    ...(prompted === undefined ? [] : [turn('user', prompted)]),
    ...listOf(body['texts']).map((text) => turn('user', text)),
    ...recordsOf(body['tool_results']).map(({ call, outputs }): Message => ({
      role: 'tool',
      parts: [{ type: 'tool_result', id: textOf(recordOf(call)['name']), content: outputs }],
    })),
  ]
}

const decodeBody = (answer: ProviderAnswer): DecodedResponse => {
  const { events } = answer
  if (events === undefined) {
    const document = recordOf(answer.json)
    if (document['type'] === 'message') return messagesApi.decodeResponse(answer)
    if (document['output'] !== undefined) return decodeConverse(document)
    if (recordsOf(document['choices']).some(isMessage)) return decodeCompletion(document)
    const decoded = decodeTextAnswers([document])
    return isEmbedding(document) ? { ...decoded, finishReason: 'embedded' } : decoded
  }
  const chunks = eventData(events)
  if (chunks.some(({ type }) => type === 'message_start')) return messagesApi.decodeResponse(answer)
  if (chunks.some((chunk) => 'messageStart' in chunk || 'contentBlockDelta' in chunk))
    return decodeConverse(assembleConverse(chunks.flatMap((chunk) => Object.entries(chunk))))
  if (chunks.some(({ choices }) => recordsOf(choices).some(isMessage)))
    return decodeCompletion(
      assembleChat(events.map((event) => ({ ...event, data: asDelta(event.data) }))),
    )
  return decodeTextAnswers(chunks)
}

const isMessage = (choice: JsonRecord): boolean => 'message' in choice || 'delta' in choice

/** Mistral on Bedrock streams whole messages where others stream deltas. */
const asDelta = (data: string): string => {
  const chunk = recordOf(parseJson(data))
  const choices = recordsOf(chunk['choices']).map(({ message, ...choice }) =>
    message === undefined ? choice : { ...choice, delta: message },
  )
  return JSON.stringify({ ...chunk, choices })
}

/**
 * Answers of text-only models, each in its own format: Llama, Titan, Mistral, Cohere. A streamed
 * answer is a list of such documents, an unstreamed one a list of one.
 */
const decodeTextAnswers = (answers: readonly JsonRecord[]): DecodedResponse => {
  const pieces = answers.map((answer) => {
    const { results, outputs, generations, choices } = answer
    return [results, outputs, generations, choices].flatMap(recordsOf)[0] ?? answer
  })
  // Claude up to version 2 used `completion`. The end of a Cohere stream repeats the text in
  // `response`.
  const text = pieces
    .map((piece) =>
      textOf(piece['generation'] ?? piece['outputText'] ?? piece['text'] ?? piece['completion']),
    )
    .join('')
  const reasons = pieces.map(({ stop_reason, completionReason, finish_reason }) =>
    optionalText(stop_reason ?? completionReason ?? finish_reason),
  )
  // Counts in a stream are running totals, or part of only one document.
  const last = (...keys: readonly string[]): number | undefined =>
    answers
      .flatMap((answer) => keys.map((key) => countOf(answer[key])))
      .findLast((count) => count !== undefined)
  const input = last('prompt_token_count', 'inputTextTokenCount')
  const titan = answers.flatMap(({ results }) => recordsOf(results))
  const summed = titan.reduce((sum, { tokenCount }) => sum + (countOf(tokenCount) ?? 0), 0)
  const output =
    last('generation_token_count', 'totalOutputTextTokenCount') ??
    (titan.length > 0 || isEmbedding(answers[0]) ? summed : undefined)
  return defined({
    messages: turnOf('assistant', [...saidParts({ text }), ...answers.flatMap(cohereCalls)]),
    usage: input === undefined || output === undefined ? undefined : { ...NO_USAGE, input, output },
    finishReason: reasons.findLast((reason) => reason !== undefined),
  })
}

/** Command R calls tools without ids; a stream names them once, at the end or separately. */
const cohereCalls = (answer: JsonRecord): MessagePart[] =>
  recordsOf(answer['tool_calls']).map(({ name, parameters }) => ({
    type: 'tool_call',
    id: textOf(name),
    name: textOf(name),
    args: parameters ?? {},
  }))

const isEmbedding = (answer: JsonRecord = {}): boolean =>
  answer['embedding'] !== undefined || answer['embeddings'] !== undefined

/** Bedrock's own counts at the end of a stream, whatever the model reports. */
const METRICS = 'amazon-bedrock-invocationMetrics'

/** Names of Bedrock's own counts, in the metrics of a stream and in headers. */
const METERS = {
  input: ['inputTokenCount', 'input-token-count'],
  output: ['outputTokenCount', 'output-token-count'],
  cachedInput: ['cacheReadInputTokenCount', 'cache-read-input-token-count'],
  cacheWrite: ['cacheWriteInputTokenCount', 'cache-write-input-token-count'],
} as const

const meteredUsage = ({ events = [], headers = [] }: ProviderAnswer): Usage | undefined => {
  const last = events.findLast(({ data }) => data.includes(METRICS))
  const metrics = recordOf(recordOf(parseJson(last?.data ?? ''))[METRICS])
  const count = (meter: keyof typeof METERS): number | undefined => {
    const [key, header] = METERS[meter]
    const text = headerValue(headers, `x-amzn-bedrock-${header}`)
    return countOf(metrics[key]) ?? (text === undefined ? undefined : countOf(Number(text)))
  }
  const input = count('input')
  const output = count('output')
  if (input === undefined || output === undefined) return undefined
  const [cachedInput, cacheWrite] = [count('cachedInput') ?? 0, count('cacheWrite') ?? 0]
  return { ...NO_USAGE, input, cachedInput, cacheWrite, output }
}

const requestId = (reply: Reply) => ({ 'x-amzn-requestid': replyId(reply, 'req-') })

/** The counts of a reply under the names of a stream's metrics, or of headers. */
const meter = ({ usage }: Reply, name: 0 | 1): [name: string, count: number][] =>
  (Object.keys(METERS) as (keyof typeof METERS)[])
    .filter((key) => key === 'input' || key === 'output' || usage[key] > 0)
    .map((key) => [METERS[key][name], usage[key]])

const encodeWhole = (reply: Reply, request: ReplyRequest): WireAnswer =>
  jsonAnswer(familyOf(request).whole(reply, request), {
    ...requestId(reply),
    'x-amzn-bedrock-invocation-latency': '400',
    ...Object.fromEntries(
      meter(reply, 1).map(([name, count]) => [`x-amzn-bedrock-${name}`, String(count)]),
    ),
  })

/** Each event has the model's JSON in base64; the last one adds Bedrock's counts. */
const encodeStream = (reply: Reply, request: ReplyRequest): WireAnswer => {
  const metrics = {
    ...Object.fromEntries(meter(reply, 0)),
    invocationLatency: 400,
    firstByteLatency: 200,
  }
  const chunks = familyOf(request).chunks(reply, request)
  const events = chunks.map((chunk, index) => {
    const isLast = index === chunks.length - 1
    const json = JSON.stringify(isLast ? { ...chunk, [METRICS]: metrics } : chunk)
    return { event: 'chunk', data: { bytes: toBase64(new TextEncoder().encode(json)) } }
  })
  return streamAnswer(converseAnswers, events, requestId(reply))
}

interface BedrockFamily {
  readonly whole: (reply: Reply, request: ReplyRequest) => JsonRecord
  readonly chunks: (reply: Reply, request: ReplyRequest) => readonly JsonRecord[]
}

/** Judges by the body, because the id may not name the family; by the id if two families take a prompt. */
const familyOf = ({ body, model = '' }: ReplyRequest): BedrockFamily => {
  if ('anthropic_version' in body) return claude
  if ('inputText' in body) return model.includes('embed') ? titanEmbedding : titan
  if ('texts' in body) return cohereEmbedding
  if ('message' in body) return cohere
  if ('prompt' in body) return model.includes('mistral') ? mistral : llama
  const blocks = recordsOf(body['messages']).flatMap(({ content }) => recordsOf(content))
  // Nova's content blocks have no type.
  const isBare = blocks.some((block) => 'text' in block && !('type' in block))
  return 'inferenceConfig' in body || 'schemaVersion' in body || isBare ? nova : chat
}

const eventsOf = (answers: AnswerFormat, reply: Reply, request: ReplyRequest) =>
  answers.restream(answers.encode(reply, request), {
    events: [],
    request: request.body,
    cut: cutReply(reply),
  })

const claude: BedrockFamily = {
  whole: (reply, request) => messageAnswers.encode(reply, request),
  chunks: (reply, request) =>
    eventsOf(messageAnswers, reply, request).map(({ data }) => recordOf(data)),
}

const nova: BedrockFamily = {
  whole: (reply, request) => converseAnswers.encode(reply, request),
  chunks: (reply, request) =>
    eventsOf(converseAnswers, reply, request).map(({ event = '', data }) => ({ [event]: data })),
}

const chat: BedrockFamily = { whole: encodeCompletion, chunks: completionChunks }

const finishAs = (reply: Reply, stop: string, length: string): string =>
  reply.finish === 'length' ? length : stop

/** The pieces of the text, with flags for the first and the last. */
const pieces = (
  reply: Reply,
  write: (piece: string, isFirst: boolean, isLast: boolean, index: number) => JsonRecord,
): JsonRecord[] =>
  [...cutReply(reply)(reply.text), ''].map((piece, index, all) =>
    write(piece, index === 0, index === all.length - 1, index),
  )

const llama: BedrockFamily = {
  whole: (reply) => ({
    generation: reply.text,
    prompt_token_count: reply.usage.input,
    generation_token_count: reply.usage.output,
    stop_reason: finishAs(reply, 'stop', 'length'),
  }),
  chunks: (reply) =>
    pieces(reply, (generation, isFirst, isLast, index) => ({
      generation,
      prompt_token_count: isFirst ? reply.usage.input : null,
      generation_token_count: isLast ? reply.usage.output : Math.min(index + 1, reply.usage.output),
      stop_reason: isLast ? finishAs(reply, 'stop', 'length') : null,
    })),
}

const mistral: BedrockFamily = {
  whole: (reply) => ({
    outputs: [{ text: reply.text, stop_reason: finishAs(reply, 'stop', 'length') }],
  }),
  chunks: (reply) =>
    pieces(reply, (text, _, isLast) => ({
      outputs: [{ text, stop_reason: isLast ? finishAs(reply, 'stop', 'length') : null }],
    })),
}

const titan: BedrockFamily = {
  whole: (reply) => ({
    inputTextTokenCount: reply.usage.input,
    results: [
      {
        tokenCount: reply.usage.output,
        outputText: reply.text,
        completionReason: finishAs(reply, 'FINISH', 'LENGTH'),
      },
    ],
  }),
  chunks: (reply) =>
    pieces(reply, (outputText, isFirst, isLast) => ({
      outputText,
      index: 0,
      totalOutputTextTokenCount: isLast ? reply.usage.output : null,
      completionReason: isLast ? finishAs(reply, 'FINISH', 'LENGTH') : null,
      inputTextTokenCount: isFirst ? reply.usage.input : null,
    })),
}

const cohere: BedrockFamily = {
  whole: (reply) => ({
    response_id: `response-${reply.number}`,
    generation_id: `generation-${reply.number}`,
    text: reply.text,
    finish_reason: finishAs(reply, 'COMPLETE', 'MAX_TOKENS'),
    ...encodeCalls(reply),
  }),
  chunks: (reply) => [
    ...cutReply(reply)(reply.text).map((text) => ({
      is_finished: false,
      event_type: 'text-generation',
      text,
    })),
    ...(reply.toolCalls.length === 0
      ? []
      : [{ is_finished: false, event_type: 'tool-calls-generation', ...encodeCalls(reply) }]),
    {
      is_finished: true,
      event_type: 'stream-end',
      finish_reason: finishAs(reply, 'COMPLETE', 'MAX_TOKENS'),
      response: { text: reply.text },
    },
  ],
}

const encodeCalls = ({ toolCalls }: Reply): JsonRecord =>
  toolCalls.length === 0
    ? {}
    : { tool_calls: toolCalls.map(({ name, args }) => ({ name, parameters: args })) }

const titanEmbedding: BedrockFamily = {
  whole: (_reply, { body }) => ({
    embedding: embeddingVector(String(body['inputText']), body['dimensions']),
    inputTextTokenCount: tokensOf(String(body['inputText'])),
  }),
  chunks: () => [],
}

const cohereEmbedding: BedrockFamily = {
  whole: (reply, { body }) => ({
    id: `embedding-${reply.number}`,
    response_type: 'embeddings_floats',
    texts: body['texts'],
    embeddings: textsIn(body['texts']).map((text) => embeddingVector(text)),
  }),
  chunks: () => [],
}
