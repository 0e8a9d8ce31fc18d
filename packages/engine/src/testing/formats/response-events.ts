import type { Reply } from '../reply.js'

/** What stands in the output of a response. */
export type ResponseItem =
  | {
      readonly id: string
      readonly type: 'reasoning'
      readonly summary: readonly { readonly type: string; readonly text: string }[]
    }
  | {
      readonly id: string
      readonly type: 'message'
      readonly status: string
      readonly role: string
      readonly content: readonly (Readonly<Record<string, unknown>> & { readonly text: string })[]
    }
  | {
      readonly id: string
      readonly type: 'function_call'
      readonly status: string
      readonly arguments: string
      readonly call_id: string
      readonly name: string
    }

type ResponseEvent = { readonly type: string } & Readonly<Record<string, unknown>>

/** The events in which an item of a response is streamed, from its opening to its end. */
export function itemEvents(item: ResponseItem, outputIndex: number, reply: Reply): ResponseEvent[] {
  const [opened, between] = openedItem(item, outputIndex, reply)
  return [
    { type: 'response.output_item.added', output_index: outputIndex, item: opened },
    ...between,
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ]
}

function openedItem(
  item: ResponseItem,
  outputIndex: number,
  reply: Reply,
): [opened: object, between: ResponseEvent[]] {
  const place = { item_id: item.id, output_index: outputIndex }
  if (item.type === 'reasoning') return [{ ...item, summary: [] }, thoughtEvents(item, place)]
  if (item.type === 'message')
    return [{ ...item, status: 'in_progress', content: [] }, textEvents(item, place, reply.pieces)]
  const call = reply.toolCalls[outputIndex - firstCall(reply)]
  return [
    { ...item, status: 'in_progress', arguments: '' },
    [
      ...(call?.pieces ?? []).map((delta) => ({
        type: 'response.function_call_arguments.delta',
        ...place,
        delta,
      })),
      {
        type: 'response.function_call_arguments.done',
        ...place,
        name: item.name,
        arguments: item.arguments,
      },
    ],
  ]
}

/** Items before the calls: the thought and the text, where there are any. */
const firstCall = (reply: Reply): number =>
  (reply.reasoning === '' ? 0 : 1) + (reply.text === '' ? 0 : 1)

function thoughtEvents(
  { summary }: ResponseItem & { readonly type: 'reasoning' },
  place: object,
): ResponseEvent[] {
  return summary.flatMap((part, index) => {
    const at = { ...place, summary_index: index }
    return [
      { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
      { type: 'response.reasoning_summary_text.delta', ...at, delta: part.text },
      { type: 'response.reasoning_summary_text.done', ...at, text: part.text },
      { type: 'response.reasoning_summary_part.done', ...at, part },
    ]
  })
}

function textEvents(
  { content }: ResponseItem & { readonly type: 'message' },
  place: object,
  pieces: readonly string[],
): ResponseEvent[] {
  return content.flatMap((part, index) => {
    const at = { ...place, content_index: index }
    return [
      { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
      ...pieces.map((delta) => ({
        type: 'response.output_text.delta',
        ...at,
        delta,
        logprobs: [],
      })),
      { type: 'response.output_text.done', ...at, text: part.text, logprobs: [] },
      { type: 'response.content_part.done', ...at, part },
    ]
  })
}
