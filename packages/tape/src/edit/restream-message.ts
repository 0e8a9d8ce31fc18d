import {
  countOf,
  isRecord,
  listOf,
  parseJson,
  recordOf,
  recordsOf,
  type JsonRecord,
} from '../providers/json-shape.js'
import type { RecordedStream } from './answer-format.js'
import { sseText } from '../http/sse-text.js'
import { textPieces } from './text-pieces.js'

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
export const restreamMessage = (message: JsonRecord, recorded: RecordedStream): string[] => {
  const { error, ...whole } = message
  const blocks = recordsOf(whole['content']).flatMap((block, index) => blockEvents(block, index))
  const events = [messageStart(whole, recorded), ...blocks]
  if (error !== undefined && error !== null) events.push({ type: 'error', error })
  else events.push(messageDelta(whole), { type: 'message_stop' })
  return events.map((event) => sseText(event, event.type))
}

interface StreamEvent extends JsonRecord {
  readonly type: string
}

const messageStart = (message: JsonRecord, { events }: RecordedStream): StreamEvent => {
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

const messageDelta = (message: JsonRecord): StreamEvent => {
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

const blockEvents = (block: JsonRecord, index: number): StreamEvent[] => {
  const { start, deltas } = streamedBlock(block)
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

/** A block as it starts, and what is added to it; a kind that is not known comes whole. */
const streamedBlock = (block: JsonRecord): { start: JsonRecord; deltas: readonly JsonRecord[] } => {
  const { type, text, thinking, signature, citations, input } = block
  if (type === 'text' && typeof text === 'string') {
    const sources = listOf(citations).map((citation) => ({ type: 'citations_delta', citation }))
    const isCited = sources.length > 0
    return {
      start: { ...block, text: '', ...(isCited && { citations: [] }) },
      deltas: [
        ...textPieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
        ...sources,
      ],
    }
  }
  if (type === 'thinking' && typeof thinking === 'string') {
    const isSigned = typeof signature === 'string'
    return {
      start: { ...block, thinking: '', ...(isSigned && { signature: '' }) },
      deltas: [
        ...textPieces(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
        ...(isSigned ? [{ type: 'signature_delta', signature }] : []),
      ],
    }
  }
  if (!isRecord(input)) return { start: block, deltas: [] }
  const pieces = Object.keys(input).length === 0 ? [] : textPieces(JSON.stringify(input))
  return {
    start: { ...block, input: {} },
    deltas: ['', ...pieces].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
  }
}
