import {
  countOf,
  isRecord,
  listOf,
  parseArguments,
  parseJson,
  recordOf,
  textOf,
  type JsonRecord,
} from './json-shape.js'
import type { SseEvent } from '../http/sse.js'

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
