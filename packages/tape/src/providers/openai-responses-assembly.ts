import {
  countOf,
  isRecord,
  listOf,
  parseJson,
  recordOf,
  recordsOf,
  textOf,
  type JsonRecord,
} from './json-shape.js'
import type { SseEvent } from '../http/sse.js'

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

/** The texts that stream in, by event: where they stand, and the part they belong to. */
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
  const { [kind]: place } = TEXTS
  if (place === undefined) return item
  const [list, index, type, key] = place
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
