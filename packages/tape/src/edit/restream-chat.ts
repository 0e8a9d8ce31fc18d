import {
  isRecord,
  parseJson,
  recordOf,
  recordsOf,
  type JsonRecord,
} from '../providers/json-shape.js'
import type { RecordedStream } from './answer-format.js'
import { sseText } from '../http/sse-text.js'
import { textPieces } from './text-pieces.js'

/** Texts of a message that come in pieces after the chunk with its role. */
const STREAMED = ['reasoning_content', 'reasoning', 'content', 'refusal'] as const

/**
 * A completion as a stream of chunks. Counts of tokens are sent where the
 * recorded stream had them, and not at all when it had none: a client that did
 * not ask for them may not expect a chunk without choices.
 */
export const restreamChat = (completion: JsonRecord, recorded: RecordedStream): string[] => {
  const { choices, usage, object: _, error, ...head } = completion
  const place = usage === undefined || usage === null ? 'nowhere' : placeOfUsage(recorded)
  const hold = place === 'own chunk' ? { usage: null } : {}
  const chunk = (list: readonly unknown[], more: JsonRecord = hold): JsonRecord => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: list,
    ...more,
  })
  const last = recordsOf(choices).length - 1
  const chunks = recordsOf(choices).flatMap((choice, position) => {
    const pieces = choicePieces(choice, position)
    return pieces.map((piece, at) => {
      const carriesUsage = place === 'last chunk' && position === last && at === pieces.length - 1
      return chunk([piece], carriesUsage ? { usage } : hold)
    })
  })
  if (place === 'own chunk') chunks.push(chunk([], { usage }))
  if (error !== undefined && error !== null)
    return [...chunks, { error }].map((data) => sseText(data))
  return [...chunks, '[DONE]'].map((data) => sseText(data))
}

const placeOfUsage = ({
  events,
  request,
}: RecordedStream): 'own chunk' | 'last chunk' | 'nowhere' => {
  if (events.length === 0) {
    const options = recordOf(recordOf(request)['stream_options'])
    return options['include_usage'] === true ? 'own chunk' : 'nowhere'
  }
  const carrier = events
    .map(({ data }) => recordOf(parseJson(data)))
    .findLast(({ usage }) => isRecord(usage))
  if (carrier === undefined) return 'nowhere'
  return recordsOf(carrier['choices']).length === 0 ? 'own chunk' : 'last chunk'
}

/** Choices of the chunks that make up one choice: role, texts, calls, and why it stopped. */
const choicePieces = (choice: JsonRecord, position: number): JsonRecord[] => {
  const { index = position, message, finish_reason = null, logprobs, ...others } = choice
  const { tool_calls, function_call, ...fields } = recordOf(message)
  const silent = logprobs === undefined ? {} : { logprobs: null }
  const piece = (delta: JsonRecord): JsonRecord => ({
    index,
    delta,
    ...silent,
    finish_reason: null,
  })
  const opening = Object.entries(fields).map(([key, value]) => [
    key,
    isStreamed(key) && typeof value === 'string' ? '' : value,
  ])
  const texts = STREAMED.flatMap((key) => {
    const { [key]: text } = fields
    return typeof text === 'string' ? textPieces(text).map((part) => ({ [key]: part })) : []
  })
  return [
    piece(Object.fromEntries(opening) as JsonRecord),
    ...texts.map(piece),
    ...recordsOf(tool_calls).flatMap((call, at) =>
      callPieces(call).map((part) => piece({ tool_calls: [{ index: at, ...part }] })),
    ),
    ...(isRecord(function_call)
      ? functionPieces('function_call', function_call, {}).map(piece)
      : []),
    {
      index,
      delta: {},
      ...(logprobs !== undefined && { logprobs }),
      ...others,
      finish_reason,
    },
  ]
}

const isStreamed = (key: string): boolean => (STREAMED as readonly string[]).includes(key)

const callPieces = (call: JsonRecord): JsonRecord[] => {
  const { function: called, custom, ...fields } = call
  if (isRecord(custom)) return functionPieces('custom', custom, fields)
  return isRecord(called) ? functionPieces('function', called, fields) : [fields]
}

/** The name comes first, with empty arguments; then the arguments in pieces. */
const functionPieces = (key: string, called: JsonRecord, fields: JsonRecord): JsonRecord[] => {
  const name = key === 'custom' ? 'input' : 'arguments'
  const { [name]: text } = called
  if (typeof text !== 'string') return [{ ...fields, [key]: called }]
  return [
    { ...fields, [key]: { ...called, [name]: '' } },
    ...textPieces(text).map((part) => ({ [key]: { [name]: part } })),
  ]
}
