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

/** An item, and what it is streamed in: the pieces of its text, thought or arguments. */
export interface StreamedItem {
  readonly item: ResponseItem
  readonly pieces: readonly string[]
}

type ResponseEvent = { readonly type: string } & Readonly<Record<string, unknown>>

/** The events in which an item of a response is streamed, from its opening to its end. */
export function itemEvents({ item, pieces }: StreamedItem, outputIndex: number): ResponseEvent[] {
  const place = { item_id: item.id, output_index: outputIndex }
  return [
    { type: 'response.output_item.added', output_index: outputIndex, item: openedItem(item) },
    ...contentEvents(item, place, pieces),
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ]
}

function openedItem(item: ResponseItem): object {
  if (item.type === 'reasoning') return { ...item, summary: [] }
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] }
  return { ...item, status: 'in_progress', arguments: '' }
}

function contentEvents(
  item: ResponseItem,
  place: object,
  pieces: readonly string[],
): ResponseEvent[] {
  if (item.type === 'reasoning') return thoughtEvents(item, place, pieces)
  if (item.type === 'message') return textEvents(item, place, pieces)
  const type = 'response.function_call_arguments'
  return [
    ...pieces.map((delta) => ({ type: `${type}.delta`, ...place, delta })),
    { type: `${type}.done`, ...place, name: item.name, arguments: item.arguments },
  ]
}

function thoughtEvents(
  { summary }: ResponseItem & { readonly type: 'reasoning' },
  place: object,
  pieces: readonly string[],
): ResponseEvent[] {
  return summary.flatMap((part, index) => {
    const at = { ...place, summary_index: index }
    return [
      { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
      ...pieces.map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        ...at,
        delta,
      })),
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
