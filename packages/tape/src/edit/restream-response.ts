import { listOf, recordsOf, textOf, type JsonRecord } from '../providers/json-shape.js'
import { sseText } from '../http/sse-text.js'
import { textPieces } from './text-pieces.js'

interface StreamEvent extends JsonRecord {
  readonly type: string
}

/** Fields that are null until the response is done. */
const AT_END = ['usage', 'completed_at', 'incomplete_details', 'error']
const FINAL = ['completed', 'incomplete', 'failed']

/** A response of OpenAI's Responses API as the events of a stream. */
export const restreamResponse = (response: JsonRecord): string[] => {
  const open: Record<string, unknown> = { ...response, status: 'in_progress', output: [] }
  for (const key of AT_END) if (Object.hasOwn(open, key)) open[key] = null
  // Derived by clients, not sent by the API.
  delete open['output_text']
  const status = textOf(response['status'])
  const events: StreamEvent[] = [
    { type: 'response.created', response: open },
    { type: 'response.in_progress', response: open },
    ...recordsOf(response['output']).flatMap((item, index) => itemEvents(item, index)),
    { type: `response.${FINAL.includes(status) ? status : 'completed'}`, response },
  ]
  return events.map(({ type, ...event }, index) =>
    sseText({ type, sequence_number: index, ...event }, type),
  )
}

/** Where an event belongs. */
interface Place {
  readonly item_id: string
  readonly output_index: number
}

const itemEvents = (item: JsonRecord, index: number): StreamEvent[] => {
  const place = { item_id: textOf(item['id']) || `item_${index}`, output_index: index }
  const { start, middle } = streamedItem(item, place)
  const status = Object.hasOwn(item, 'status') ? { status: 'in_progress' } : {}
  return [
    { type: 'response.output_item.added', output_index: index, item: { ...start, ...status } },
    ...middle,
    { type: 'response.output_item.done', output_index: index, item },
  ]
}

/** An item as it starts, and the events that fill it; a kind that is not known comes whole. */
const streamedItem = (
  item: JsonRecord,
  place: Place,
): { start: JsonRecord; middle: StreamEvent[] } => {
  switch (item['type']) {
    case 'message':
      return { start: { ...item, content: [] }, middle: contentEvents(item, place) }
    case 'reasoning': {
      const hasContent = Array.isArray(item['content'])
      return {
        start: { ...item, summary: [], ...(hasContent && { content: [] }) },
        middle: [...summaryEvents(item, place), ...contentEvents(item, place)],
      }
    }
    case 'function_call':
      return streamedText(item, place, 'response.function_call_arguments', 'arguments')
    case 'mcp_call':
      return streamedText(item, place, 'response.mcp_call_arguments', 'arguments')
    case 'custom_tool_call':
      return streamedText(item, place, 'response.custom_tool_call_input', 'input')
    default:
      return { start: item, middle: [] }
  }
}

const streamedText = (
  item: JsonRecord,
  place: Place,
  event: string,
  key: string,
): { start: JsonRecord; middle: StreamEvent[] } => {
  const { [key]: text } = item
  if (typeof text !== 'string') return { start: item, middle: [] }
  return {
    start: { ...item, [key]: '' },
    middle: [
      ...textPieces(text).map((delta) => ({ type: `${event}.delta`, ...place, delta })),
      { type: `${event}.done`, ...place, [key]: text },
    ],
  }
}

/** Parts of a message or of open reasoning: added, filled, done. */
const contentEvents = (item: JsonRecord, place: Place): StreamEvent[] =>
  recordsOf(item['content']).flatMap((part, content_index) => {
    const at = { ...place, content_index }
    const [start, middle] = streamedPart(part, at)
    return [
      { type: 'response.content_part.added', ...at, part: start },
      ...middle,
      { type: 'response.content_part.done', ...at, part },
    ]
  })

const streamedPart = (part: JsonRecord, at: JsonRecord): [start: JsonRecord, StreamEvent[]] => {
  const { text, refusal, annotations } = part
  if (part['type'] === 'output_text' && typeof text === 'string') {
    const logprobs = { logprobs: [] }
    const start = { ...part, text: '', ...(annotations !== undefined && { annotations: [] }) }
    return [
      start,
      [
        ...textPieces(text).map((delta) => ({
          type: 'response.output_text.delta',
          ...at,
          delta,
          ...logprobs,
        })),
        ...listOf(annotations).map((annotation, annotation_index) => ({
          type: 'response.output_text.annotation.added',
          ...at,
          annotation_index,
          annotation,
        })),
        { type: 'response.output_text.done', ...at, text, ...logprobs },
      ],
    ]
  }
  if (part['type'] === 'refusal' && typeof refusal === 'string') {
    const deltas = textPieces(refusal).map((delta) => ({
      type: 'response.refusal.delta',
      ...at,
      delta,
    }))
    return [
      { ...part, refusal: '' },
      [...deltas, { type: 'response.refusal.done', ...at, refusal }],
    ]
  }
  if (part['type'] === 'reasoning_text' && typeof text === 'string') {
    const deltas = textPieces(text).map((delta) => ({
      type: 'response.reasoning_text.delta',
      ...at,
      delta,
    }))
    return [
      { ...part, text: '' },
      [...deltas, { type: 'response.reasoning_text.done', ...at, text }],
    ]
  }
  return [part, []]
}

const summaryEvents = (item: JsonRecord, place: Place): StreamEvent[] =>
  recordsOf(item['summary']).flatMap((part, summary_index) => {
    const at = { ...place, summary_index }
    const text = textOf(part['text'])
    return [
      { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
      ...textPieces(text).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        ...at,
        delta,
      })),
      { type: 'response.reasoning_summary_text.done', ...at, text },
      { type: 'response.reasoning_summary_part.done', ...at, part },
    ]
  })
