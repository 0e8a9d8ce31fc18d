import {
  countOf,
  isRecord,
  type JsonRecord,
  listOf,
  parseArguments,
  parseJson,
  recordOf,
  recordsOf,
  textOf,
} from '../../values/json-shape.js'
import type { SseEvent } from '../../http/sse.js'
import type { StreamEvent, StreamOptions } from '../provider.js'
import { textPieces, type CutText } from '../reply.js'

/** Known only when a message ends; until then they are null. */
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

/** A message of Anthropic's API as the events of a stream. */
export const restreamMessage = (message: JsonRecord, options: StreamOptions): StreamEvent[] => {
  const { error, ...whole } = message
  const { cut = textPieces } = options
  const blocks = recordsOf(whole['content']).flatMap((block, index) =>
    blockEvents(block, index, cut),
  )
  const events = [messageStart(whole, options), ...blocks]
  if (error !== undefined && error !== null) events.push({ type: 'error', error })
  else events.push(messageDelta(whole), { type: 'message_stop' })
  return events.map((data) => ({ event: data.type, data }))
}

interface MessageEvent extends JsonRecord {
  readonly type: string
}

const messageStart = (message: JsonRecord, { events }: StreamOptions): MessageEvent => {
  const start: Record<string, unknown> = { ...message, content: [] }
  for (const key of AT_END) if (Object.hasOwn(start, key)) start[key] = null
  const first = events
    .map(({ data }) => recordOf(parseJson(data)))
    .find(({ type }) => type === 'message_start')
  const said = countOf(recordOf(recordOf(first?.['message'])['usage'])['output_tokens']) ?? 1
  const { usage } = message
  if (isRecord(usage)) start['usage'] = { ...usage, output_tokens: said }
  return { type: 'message_start', message: start }
}

const messageDelta = (message: JsonRecord): MessageEvent => {
  const keys = AT_END.filter((key) => Object.hasOwn(message, key))
  const totals = Object.entries(recordOf(message['usage'])).filter(
    ([key, value]) => TOTALS.includes(key) && value !== null,
  )
  return {
    type: 'message_delta',
    delta: Object.fromEntries(keys.map((key) => [key, message[key]])),
    usage: Object.fromEntries(totals),
  }
}

const blockEvents = (block: JsonRecord, index: number, cut: CutText): MessageEvent[] => {
  const { start, deltas } = streamedBlock(block, cut)
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

/** A block as it starts, and what is added to it; a kind that is not known comes whole. */
const streamedBlock = (
  block: JsonRecord,
  cut: CutText,
): { start: JsonRecord; deltas: readonly JsonRecord[] } => {
  const { type, text, thinking, signature, citations, input } = block
  if (type === 'text' && typeof text === 'string') {
    const sources = listOf(citations).map((citation) => ({ type: 'citations_delta', citation }))
    const isCited = sources.length > 0
    return {
      start: { ...block, text: '', ...(isCited && { citations: [] }) },
      deltas: [...cut(text).map((piece) => ({ type: 'text_delta', text: piece })), ...sources],
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

type Draft = Record<string, unknown>

/** Adds the events of a stream up to the message an unstreamed call would have given. */
export const assembleMessage = (events: readonly SseEvent[]): JsonRecord => {
  let message: Draft = {}
  const blocks = new Map<number, Draft>()
  for (const { data } of events) {
    const event = recordOf(parseJson(data))
    const index = countOf(event['index']) ?? 0
    switch (event['type']) {
      case 'message_start':
        message = { ...recordOf(event['message']) }
        break
      case 'content_block_start':
        blocks.set(index, { ...recordOf(event['content_block']) })
        break
      case 'content_block_delta':
        extendBlock(blocks.get(index), recordOf(event['delta']))
        break
      case 'message_delta':
        message = {
          ...message,
          ...recordOf(event['delta']),
          usage: mergeUsage(message['usage'], event['usage']),
        }
        break
      case 'error':
        message['error'] = event['error']
        break
    }
  }
  const content = [...blocks.entries()].toSorted(([left], [right]) => left - right)
  return { ...message, content: content.map(([, block]) => closeBlock(block)) }
}

const extendBlock = (block: Draft | undefined, delta: JsonRecord): void => {
  if (block === undefined) return
  switch (delta['type']) {
    case 'text_delta':
      block['text'] = textOf(block['text']) + textOf(delta['text'])
      break
    case 'thinking_delta':
      block['thinking'] = textOf(block['thinking']) + textOf(delta['thinking'])
      break
    case 'signature_delta':
      block['signature'] = delta['signature']
      break
    case 'citations_delta':
      block['citations'] = [...listOf(block['citations']), delta['citation']]
      break
    case 'input_json_delta':
      block['input'] = textOf(block['input']) + textOf(delta['partial_json'])
      break
  }
}

/** Input that streamed in as text is parsed; input that came whole stays. */
const closeBlock = (block: JsonRecord): JsonRecord =>
  typeof block['input'] === 'string' ? { ...block, input: parseArguments(block['input']) } : block

/** Counts in a delta are running totals; those it does not name stay. */
const mergeUsage = (earlier: unknown, later: unknown): JsonRecord => {
  const named = Object.entries(recordOf(later)).filter(([, value]) => value !== null)
  const merged: Draft = { ...(isRecord(earlier) ? earlier : {}), ...Object.fromEntries(named) }
  // Tools at the provider write more to the cache later on; the total grows, its parts stay behind.
  const grew =
    merged['cache_creation_input_tokens'] !== recordOf(earlier)['cache_creation_input_tokens']
  const isStale = grew && !isRecord(recordOf(later)['cache_creation'])
  if (isStale && recordOf(merged['cache_creation'])['ephemeral_1h_input_tokens'] === 0)
    delete merged['cache_creation']
  return merged
}
