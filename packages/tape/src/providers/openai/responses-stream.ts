import {
  countOf,
  isRecord,
  type JsonRecord,
  listOf,
  parseJson,
  recordOf,
  recordsOf,
  textOf,
} from '../../values/json-shape.js'
import type { SseEvent } from '../../http/sse.js'
import type { StreamEvent, StreamOptions } from '../provider.js'
import { textPieces, type CutText } from '../reply.js'

interface ResponseEvent extends JsonRecord {
  readonly type: string
}

/** Fields that are null until the response is done. */
const AT_END = ['usage', 'completed_at', 'incomplete_details', 'error']
const FINAL = ['completed', 'incomplete', 'failed']

/** A response of OpenAI's Responses API as the events of a stream. */
export const restreamResponse = (
  response: JsonRecord,
  { cut = textPieces }: StreamOptions,
): StreamEvent[] => {
  const open: Record<string, unknown> = { ...response, status: 'in_progress', output: [] }
  for (const key of AT_END) if (Object.hasOwn(open, key)) open[key] = null
  // Derived by clients, not sent by the API.
  delete open['output_text']
  const status = textOf(response['status'])
  const events: ResponseEvent[] = [
    { type: 'response.created', response: open },
    { type: 'response.in_progress', response: open },
    ...recordsOf(response['output']).flatMap((item, index) => itemEvents(item, index, cut)),
    { type: `response.${FINAL.includes(status) ? status : 'completed'}`, response },
  ]
  return events.map(({ type, ...event }, index) => ({
    event: type,
    data: { type, sequence_number: index, ...event },
  }))
}

interface ItemPosition {
  readonly item_id: string
  readonly output_index: number
}

const itemEvents = (item: JsonRecord, index: number, cut: CutText): ResponseEvent[] => {
  const position = { item_id: textOf(item['id']) || `item_${index}`, output_index: index }
  const { start, middle } = streamedItem(item, position, cut)
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
  position: ItemPosition,
  cut: CutText,
): { start: JsonRecord; middle: ResponseEvent[] } => {
  switch (item['type']) {
    case 'message':
      return { start: { ...item, content: [] }, middle: contentEvents(item, position, cut) }
    case 'reasoning': {
      const hasContent = Array.isArray(item['content'])
      return {
        start: { ...item, summary: [], ...(hasContent && { content: [] }) },
        middle: [...summaryEvents(item, position, cut), ...contentEvents(item, position, cut)],
      }
    }
    case 'function_call':
      return streamedText(item, position, 'response.function_call_arguments', 'arguments', cut)
    case 'mcp_call':
      return streamedText(item, position, 'response.mcp_call_arguments', 'arguments', cut)
    case 'custom_tool_call':
      return streamedText(item, position, 'response.custom_tool_call_input', 'input', cut)
    default:
      return { start: item, middle: [] }
  }
}

const streamedText = (
  item: JsonRecord,
  position: ItemPosition,
  event: string,
  key: string,
  cut: CutText,
): { start: JsonRecord; middle: ResponseEvent[] } => {
  const { [key]: text } = item
  if (typeof text !== 'string') return { start: item, middle: [] }
  return {
    start: { ...item, [key]: '' },
    middle: [
      ...cut(text).map((delta) => ({ type: `${event}.delta`, ...position, delta })),
      {
        type: `${event}.done`,
        ...position,
        ...(item['type'] === 'function_call' && { name: item['name'] }),
        [key]: text,
      },
    ],
  }
}

/** Parts of a message or of open reasoning: added, filled, done. */
const contentEvents = (item: JsonRecord, position: ItemPosition, cut: CutText): ResponseEvent[] =>
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
  const { text, refusal, annotations } = part
  if (part['type'] === 'output_text' && typeof text === 'string') {
    const logprobs = { logprobs: [] }
    const start = { ...part, text: '', ...(annotations !== undefined && { annotations: [] }) }
    return [
      start,
      [
        ...cut(text).map((delta) => ({
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
    const deltas = cut(refusal).map((delta) => ({
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
    const deltas = cut(text).map((delta) => ({
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

const summaryEvents = (item: JsonRecord, position: ItemPosition, cut: CutText): ResponseEvent[] =>
  recordsOf(item['summary']).flatMap((part, summary_index) => {
    const at = { ...position, summary_index }
    const text = textOf(part['text'])
    return [
      { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
      ...cut(text).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        ...at,
        delta,
      })),
      { type: 'response.reasoning_summary_text.done', ...at, text },
      { type: 'response.reasoning_summary_part.done', ...at, part },
    ]
  })

/** The last event holds the whole response; a stream that broke off is put together from its items. */
export const assembleResponse = (events: readonly SseEvent[]): JsonRecord => {
  let response: JsonRecord = {}
  const items = new Map<number, JsonRecord>()
  for (const { data } of events) {
    const event = recordOf(parseJson(data))
    const kind = textOf(event['type'])
    const index = countOf(event['output_index']) ?? 0
    if (isRecord(event['response'])) response = event['response']
    else if (kind === 'error') response = { ...response, error: event['error'] ?? event['message'] }
    else if (isRecord(event['item'])) items.set(index, event['item'])
    else if (kind.endsWith('.delta') || kind.endsWith('.added'))
      items.set(index, extendItem(items.get(index) ?? {}, kind, event))
  }
  const isFinal = recordsOf(response['output']).length > 0 || items.size === 0
  if (isFinal) return response
  const output = [...items.entries()].toSorted(([left], [right]) => left - right)
  return { ...response, output: output.map(([, item]) => item) }
}

/** Texts that arrive in pieces, by event: the list, and the part of it they extend. */
const TEXTS: Readonly<
  Record<string, readonly [list: string, index: string, type: string, key: string]>
> = {
  'response.output_text.delta': ['content', 'content_index', 'output_text', 'text'],
  'response.refusal.delta': ['content', 'content_index', 'refusal', 'refusal'],
  'response.reasoning_text.delta': ['content', 'content_index', 'reasoning_text', 'text'],
  'response.reasoning_summary_text.delta': ['summary', 'summary_index', 'summary_text', 'text'],
}

const extendItem = (item: JsonRecord, kind: string, event: JsonRecord): JsonRecord => {
  const { delta, part, annotation } = event
  const at = countOf(event['content_index']) ?? 0
  switch (kind) {
    case 'response.function_call_arguments.delta':
    case 'response.mcp_call_arguments.delta':
      return { ...item, arguments: textOf(item['arguments']) + textOf(delta) }
    case 'response.custom_tool_call_input.delta':
      return { ...item, input: textOf(item['input']) + textOf(delta) }
    case 'response.content_part.added':
      return withPart(item, 'content', at, () => part)
    case 'response.reasoning_summary_part.added':
      return withPart(item, 'summary', countOf(event['summary_index']) ?? 0, () => part)
    case 'response.output_text.annotation.added':
      return withPart(item, 'content', at, (text) => ({
        ...text,
        annotations: [...listOf(text['annotations']), annotation],
      }))
  }
  const { [kind]: target } = TEXTS
  if (target === undefined) return item
  const [list, index, type, key] = target
  return withPart(item, list, countOf(event[index]) ?? 0, (text) => ({
    type,
    ...text,
    [key]: textOf(text[key]) + textOf(delta),
  }))
}

/** Parts come in order; one that was never announced is put at the end. */
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
