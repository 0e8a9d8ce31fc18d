import { attempt } from '../../format/values/attempt.js'
import { eventFrameBytes } from '../../http/event-frames.js'
import type { SseEvent } from '../../http/sse.js'
import {
  countOf,
  defined,
  errorMessage,
  isRecord,
  type JsonRecord,
} from '../../format/values/json-shape.js'
import {
  optionalText,
  parseArguments,
  parseJson,
  recordOf,
} from '../../format/values/json-shape.js'
import { recordsOf, textOf } from '../../format/values/json-shape.js'
import { appendText, draftAt, type Draft, inOrder } from '../specification/assemble.js'
import { type Check, ifPresent, list, oneOf, shape, string, usage } from '../specification/check.js'
import { type Message, type MessagePart, otherPart, textPart } from '../specification/message.js'
import { turnOf, userTurn } from '../specification/message.js'
import type { AnswerFormat, DecodedResponse, ModelApi } from '../specification/provider.js'
import type { StreamEvent, StreamOptions } from '../specification/provider.js'
import { callId, type CutText, type Finish, hasText, type Reply } from '../specification/reply.js'
import { replyId, textPieces } from '../specification/reply.js'
import { type Usage } from '../specification/usage.js'
import { unpricedTier } from '../specification/price.js'
import { scriptedFormat } from '../specification/wire-answer.js'

const PATH = /\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/

interface BedrockPath {
  /** A model id, an inference profile or an ARN. */
  readonly model: string
  readonly action: 'converse' | 'invoke'
  readonly stream: boolean
}

/** Parses the path of a request to Bedrock; the id in it is escaped. */
export const bedrockPath = (url: URL): BedrockPath | undefined => {
  // An ARN contains slashes, which only some clients escape.
  const path = url.pathname.replace(/(\/model\/arn[^/]*)\/([^/]+)(?=\/[^/]+$)/, '$1%2F$2')
  const [, id = '', action = ''] = PATH.exec(path) ?? []
  if (id === '') return undefined
  return {
    model: attempt(() => decodeURIComponent(id), id),
    action: action.startsWith('converse') ? 'converse' : 'invoke',
    stream: action.endsWith('stream'),
  }
}

/** Messages of Bedrock's Converse API, which Nova's `invoke` also accepts. */
export const decodeConversation = (body: JsonRecord): Message[] => [
  ...turnOf('system', decodeBlocks(body['system'])),
  ...recordsOf(body['messages']).flatMap((message): Message[] => {
    const parts = decodeBlocks(message['content'])
    return message['role'] === 'assistant' ? [{ role: 'assistant', parts }] : userTurn(parts)
  }),
]

/** Cache markers are not content. */
const decodeBlocks = (content: unknown): MessagePart[] =>
  typeof content === 'string'
    ? [textPart(content)]
    : recordsOf(content)
        .filter((block) => !('cachePoint' in block))
        .map(decodeBlock)

const decodeBlock = (block: JsonRecord): MessagePart => {
  const { text: said, toolUse, toolResult, reasoningContent, image } = block
  if (typeof said === 'string') return textPart(said)
  // Calls that the provider executes, such as Nova's code interpreter, need no answer.
  if (recordOf(toolUse)['type'] === 'server_tool_use') return otherPart('server_tool_use', block)
  if (textOf(recordOf(toolResult)['type']).endsWith('_result'))
    return otherPart('server_tool_result', block)
  if (isRecord(toolUse)) {
    const { toolUseId, name, input } = toolUse
    return { type: 'tool_call', id: textOf(toolUseId), name: textOf(name), args: input ?? {} }
  }
  if (isRecord(toolResult)) {
    const { toolUseId, content, status } = toolResult
    return {
      type: 'tool_result',
      id: textOf(toolUseId),
      content: resultOf(content),
      ...(status === 'error' && { isError: true }),
    }
  }
  if (isRecord(reasoningContent))
    return { type: 'reasoning', text: textOf(recordOf(reasoningContent['reasoningText'])['text']) }
  if (isRecord(image)) {
    const { uri } = recordOf(recordOf(image['source'])['s3Location'])
    return { type: 'image', source: optionalText(uri) ?? `image/${textOf(image['format'])}` }
  }
  return otherPart(Object.keys(block)[0] ?? 'block', block)
}

/** Text if there is only text, or the value if there is a single JSON value. */
const resultOf = (content: unknown): unknown => {
  const blocks = recordsOf(content)
  if (blocks.length > 0 && blocks.every((block) => typeof block['text'] === 'string'))
    return blocks.map((block) => textOf(block['text'])).join('')
  const [only] = blocks
  return blocks.length === 1 && only !== undefined && 'json' in only ? only['json'] : content
}

/** Also decodes answers to Nova's `invoke`. */
export const decodeConverse = (answer: JsonRecord): DecodedResponse => {
  const message = recordOf(recordOf(answer['output'])['message'])
  const isWhole = answer['output'] !== undefined
  return defined({
    messages: turnOf('assistant', decodeBlocks(message['content'])),
    usage: decodeUsage(answer),
    finishReason: optionalText(answer['stopReason']),
    error: errorMessage(isWhole ? { error: answer['error'] } : answer),
  })
}

/** The tokens of a Converse answer. The input count excludes cached tokens. */
const decodeUsage = (answer: JsonRecord): Usage | undefined => {
  const given = recordOf(answer['usage'])
  const input = countOf(given['inputTokens'])
  const output = countOf(given['outputTokens'])
  if (input === undefined || output === undefined) return undefined
  const cached = (key: string): number =>
    countOf(given[`${key}Tokens`]) ?? countOf(given[`${key}TokenCount`]) ?? 0
  const cachedInput = cached('cacheReadInput')
  const cacheWrite = cached('cacheWriteInput')
  const total = countOf(given['totalTokens'])
  // Some models exclude cached tokens from the total.
  const sums = [input + output, input + cachedInput + cacheWrite + output]
  const isOdd = total !== undefined && !sums.includes(total)
  const hourly = recordsOf(given['cacheDetails'])
    .filter(({ ttl }) => ttl === '1h')
    .reduce((sum, { inputTokens }) => sum + (countOf(inputTokens) ?? 0), 0)
  const content = recordOf(recordOf(answer['output'])['message'])['content']
  const ranTools = recordsOf(content).some(
    ({ toolUse }) => recordOf(toolUse)['type'] === 'server_tool_use',
  )
  const latency = recordOf(answer['performanceConfig'])['latency']
  return {
    input,
    cachedInput,
    cacheWrite,
    cacheWriteLong: Math.min(cacheWrite, hourly),
    output,
    reasoning: 0,
    unpriced: [
      ...unpricedTier({ service_tier: recordOf(answer['serviceTier'])['type'] }),
      ...(latency === 'optimized' ? ['optimized latency'] : []),
      ...(recordOf(answer['trace'])['guardrail'] === undefined ? [] : ['guardrail']),
      ...(ranTools ? ['tools run by the provider'] : []),
    ],
    ...(isOdd && { mismatch: `a total of ${total} where input and output make ${sums[1]}` }),
  }
}

/** The failure that Bedrock reports in the middle of a stream. */
const streamFailure = (events: readonly SseEvent[]): SseEvent | undefined =>
  events.find(({ event }) => event === 'error' || /exception$/i.test(event))

export const streamError = (events: readonly SseEvent[]): string | undefined => {
  const failed = streamFailure(events)
  return failed && (errorMessage(parseJson(failed.data)) ?? failed.event)
}

/** Sent when a message stops; everything else about it follows with the counts. */
const AT_STOP = ['stopReason', 'additionalModelResponseFields']

const restreamConverse = (
  answer: JsonRecord,
  { cut = textPieces }: StreamOptions,
): StreamEvent[] => {
  const { output, error, ...rest } = answer
  const { role, content } = recordOf(recordOf(output)['message'])
  const events: StreamEvent[] = [
    { event: 'messageStart', data: { role } },
    ...recordsOf(content).flatMap((block, contentBlockIndex) => {
      const { start, deltas } = streamedBlock(block, cut)
      const data = { contentBlockIndex }
      return [
        ...(start ? [{ event: 'contentBlockStart', data: { ...data, start } }] : []),
        ...deltas.map((delta) => ({ event: 'contentBlockDelta', data: { ...data, delta } })),
        { event: 'contentBlockStop', data },
      ]
    }),
  ]
  if (isRecord(error)) {
    const { type, ...data } = error
    const event = typeof type === 'string' ? type : 'modelStreamErrorException'
    return [...events, { event, data }]
  }
  const pick = (isAtStop: boolean): JsonRecord =>
    Object.fromEntries(Object.entries(rest).filter(([key]) => AT_STOP.includes(key) === isAtStop))
  const data = pick(false)
  events.push({ event: 'messageStop', data: pick(true) })
  return Object.keys(data).length > 0 ? [...events, { event: 'metadata', data }] : events
}

/** Only tool calls are announced; a block of an unknown kind comes whole. */
const streamedBlock = (
  block: JsonRecord,
  cut: CutText,
): { start?: JsonRecord; deltas: readonly JsonRecord[] } => {
  const { text: said, toolUse, reasoningContent } = block
  if (typeof said === 'string')
    return { deltas: (said === '' ? [''] : cut(said)).map((piece) => ({ text: piece })) }
  if (isRecord(toolUse)) {
    const { input, ...known } = toolUse
    const pieces = cut(JSON.stringify(input ?? {}))
    return {
      start: { toolUse: known },
      deltas: pieces.map((piece) => ({ toolUse: { input: piece } })),
    }
  }
  const { text: thinking, ...signed } = recordOf(recordOf(reasoningContent)['reasoningText'])
  if (typeof thinking !== 'string') return { deltas: [block] }
  const pieces: JsonRecord[] = cut(thinking).map((piece) => ({ text: piece }))
  if (Object.keys(signed).length > 0) pieces.push(signed)
  const parts = pieces.length === 0 ? [{ text: '' }] : pieces
  return { deltas: parts.map((part) => ({ reasoningContent: part })) }
}

/** Assembles stream events, given by name, into an unstreamed answer of Converse. */
export const assembleConverse = (events: readonly (readonly [string, unknown])[]): JsonRecord => {
  const blocks = new Map<number, Draft>()
  const answer: Draft = {}
  let role = 'assistant'
  for (const [name, given] of events) {
    const value = recordOf(given)
    const index = countOf(value['contentBlockIndex']) ?? 0
    if (name === 'messageStart') role = textOf(value['role'])
    else if (name === 'contentBlockStart') blocks.set(index, { ...recordOf(value['start']) })
    else if (name === 'contentBlockDelta')
      extendBlock(
        draftAt(blocks, index, () => ({})),
        recordOf(value['delta']),
      )
    else if (name === 'messageStop' || name === 'metadata') Object.assign(answer, value)
  }
  const content = inOrder(blocks).map(([, block]) => {
    // Input that streamed in as text is parsed; input that came whole stays.
    const toolUse = recordOf(block['toolUse'])
    return typeof toolUse['input'] === 'string'
      ? { ...block, toolUse: { ...toolUse, input: parseArguments(toolUse['input']) } }
      : block
  })
  // Padding is ignored.
  const { p: _, ...ended } = answer
  return { output: { message: { role, content } }, ...ended }
}

const extendBlock = (block: Draft, delta: JsonRecord): void => {
  const { text: said, toolUse, reasoningContent } = delta
  if (typeof said === 'string') appendText(block, 'text', said)
  else if (toolUse !== undefined) {
    const call: Draft = { ...recordOf(block['toolUse']) }
    appendText(call, 'input', recordOf(toolUse)['input'])
    block['toolUse'] = call
  } else if (reasoningContent !== undefined) extendReasoning(block, recordOf(reasoningContent))
  else Object.assign(block, delta)
}

/** A thought comes as text in pieces, then its signature; or redacted as a whole. */
const extendReasoning = (block: Draft, { text: said, ...others }: JsonRecord): void => {
  if (others['redactedContent'] !== undefined) {
    block['reasoningContent'] = others
    return
  }
  const known = recordOf(recordOf(block['reasoningContent'])['reasoningText'])
  const reasoningText = { ...known, ...others, text: textOf(known['text']) + textOf(said) }
  block['reasoningContent'] = { reasoningText }
}

/** Encodes an event of Bedrock, such as `contentBlockDelta`, or an exception. */
const bedrockFrame = ({ event = '', data }: StreamEvent): Uint8Array => {
  const isFailure = /exception$/i.test(event)
  return eventFrameBytes(
    {
      [isFailure ? ':exception-type' : ':event-type']: event,
      ':content-type': 'application/json',
      ':message-type': isFailure ? 'exception' : 'event',
    },
    JSON.stringify(data),
  )
}

const STOP_REASONS = [
  'end_turn',
  'tool_use',
  'max_tokens',
  'stop_sequence',
  'guardrail_intervened',
  'content_filtered',
  'malformed_model_output',
  'malformed_tool_use',
  'model_context_window_exceeded',
]

const parsedInput: Check = (input, path) =>
  input === undefined || typeof input === 'string' ? [`${path} is not JSON`] : []

const checkMessage = shape({
  role: oneOf('assistant'),
  content: list(
    ifPresent({
      text: string,
      toolUse: shape({ toolUseId: string, name: string, input: parsedInput }),
    }),
  ),
})

const checkConverse = shape({ stopReason: oneOf(...STOP_REASONS) }, (document) => {
  const { output, stopReason, usage: spent } = document
  const message = isRecord(output) ? output['message'] : output
  const { content } = recordOf(message)
  const isCalling = recordsOf(content).some((block) => 'toolUse' in block)
  return [
    ...checkMessage(message, 'output.message'),
    ...(stopReason === 'tool_use' && isRecord(message) && !isCalling
      ? ['stopReason is "tool_use", but no block is one']
      : []),
    ...(spent === undefined ? [] : usage('inputTokens', 'outputTokens')(spent, 'usage')),
  ]
})

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  filter: 'content_filtered',
}

/** A whole answer of Converse. Nova's `invoke` uses the same format. */
const encodeConverse = (reply: Reply): JsonRecord => {
  const { input, cachedInput, cacheWrite, output } = reply.usage
  const thought = { reasoningContent: { reasoningText: { text: reply.reasoning } } }
  const content = [
    ...(reply.reasoning === '' ? [] : [thought]),
    ...(hasText(reply) ? [{ text: reply.text }] : []),
    ...reply.toolCalls.map(({ name, args }, index) => ({
      toolUse: { toolUseId: callId(reply, index, 'tooluse_'), name, input: args },
    })),
  ]
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: FINISH[reply.finish],
    usage: {
      inputTokens: input,
      outputTokens: output,
      totalTokens: input + cachedInput + cacheWrite + output,
      cacheReadInputTokens: cachedInput,
      cacheWriteInputTokens: cacheWrite,
    },
    metrics: { latencyMs: 400 },
  }
}

const namedEvents = (events: readonly SseEvent[]) =>
  events.map(({ event, data }) => [event, parseJson(data)] as const)

export const converseAnswers: AnswerFormat = {
  assemble: (events) => {
    const failed = streamFailure(events)
    const error = failed && { type: failed.event, ...recordOf(parseJson(failed.data)) }
    return { ...assembleConverse(namedEvents(events)), ...defined({ error }) }
  },
  restream: restreamConverse,
  check: checkConverse,
  encode: encodeConverse,
  outputFields: ['output', 'stopReason'],
  frame: bedrockFrame,
  streamType: 'application/vnd.amazon.eventstream',
  expectsStream: ({ url }) => /\/converse-stream(?:\?|$)/.test(url),
}

/** Bedrock's Converse API: one format for all models, streamed and unstreamed. */
export const bedrockConverse: ModelApi = {
  provider: 'bedrock',
  api: 'converse',
  conversation: ['system', 'messages'],

  matches: ({ method, url, mentions }) =>
    method === 'POST' && bedrockPath(url)?.action === 'converse' && mentions('messages'),

  decodeRequest: ({ url, json }) => {
    const path = bedrockPath(url)
    return defined({
      model: path?.model,
      stream: path?.stream === true,
      messages: decodeConversation(recordOf(json())),
    })
  },

  decodeResponse: ({ json, events }) =>
    decodeConverse(
      events === undefined
        ? recordOf(json)
        : {
            ...assembleConverse(namedEvents(events)),
            ...defined({ error: streamError(events) }),
          },
    ),

  answers: converseAnswers,
  scripted: [
    scriptedFormat({
      format: 'bedrock-converse',
      path: /\/model\/.+\/converse(-stream)?$/,
      answers: converseAnswers,
      headers: (reply) => ({ 'x-amzn-requestid': replyId(reply, 'req-') }),
    }),
  ],
}
