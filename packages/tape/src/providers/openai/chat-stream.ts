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

/** Texts of a message that come in pieces after the chunk with its role. */
const STREAMED = ['reasoning_content', 'reasoning', 'content', 'refusal'] as const

/**
 * A completion as a stream of chunks. Usage is sent where the recorded stream
 * had it, and omitted if it had none: a client that did not request it may not
 * expect a chunk without choices.
 */
export const restreamChat = (completion: JsonRecord, options: StreamOptions): StreamEvent[] =>
  chatChunks(completion, usagePositionIn(options), options.cut ?? textPieces).map((data) => ({
    data,
  }))

/** Where a stream reports its usage. */
export type UsagePosition = 'own chunk' | 'last chunk' | 'nowhere'

/** Chunks of a completion, and the mark of its end. */
export const chatChunks = (
  completion: JsonRecord,
  usagePosition: UsagePosition,
  cut: CutText,
): (JsonRecord | string)[] => {
  const { choices, usage, object: _, error, ...head } = completion
  const position = usage === undefined || usage === null ? 'nowhere' : usagePosition
  const pending = position === 'own chunk' ? { usage: null } : {}
  const chunk = (list: readonly unknown[], more: JsonRecord = pending): JsonRecord => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: list,
    ...more,
  })
  const last = recordsOf(choices).length - 1
  const chunks = recordsOf(choices).flatMap((choice, index) => {
    const pieces = choicePieces(choice, index, cut)
    return pieces.map((piece, at) => {
      const isLast = index === last && at === pieces.length - 1
      return chunk([piece], position === 'last chunk' && isLast ? { usage } : pending)
    })
  })
  if (position === 'own chunk') chunks.push(chunk([], { usage }))
  if (error !== undefined && error !== null) return [...chunks, { error }]
  return [...chunks, '[DONE]']
}

const usagePositionIn = ({ events, request }: StreamOptions): UsagePosition => {
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
const choicePieces = (choice: JsonRecord, position: number, cut: CutText): JsonRecord[] => {
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
    return typeof text === 'string' ? cut(text).map((part) => ({ [key]: part })) : []
  })
  return [
    piece(Object.fromEntries(opening) as JsonRecord),
    ...texts.map(piece),
    ...recordsOf(tool_calls).flatMap((call, at) =>
      callPieces(call, cut).map((part) => piece({ tool_calls: [{ index: at, ...part }] })),
    ),
    ...(isRecord(function_call)
      ? functionPieces('function_call', function_call, {}, cut).map(piece)
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

const callPieces = (call: JsonRecord, cut: CutText): JsonRecord[] => {
  const { function: called, custom, ...fields } = call
  if (isRecord(custom)) return functionPieces('custom', custom, fields, cut)
  return isRecord(called) ? functionPieces('function', called, fields, cut) : [fields]
}

/** The name with empty arguments, then their pieces; arguments of one piece come with the name. */
const functionPieces = (
  key: string,
  called: JsonRecord,
  fields: JsonRecord,
  cut: CutText,
): JsonRecord[] => {
  const name = key === 'custom' ? 'input' : 'arguments'
  const { [name]: text } = called
  if (typeof text !== 'string') return [{ ...fields, [key]: called }]
  const pieces = cut(text)
  if (pieces.length === 1) return [{ ...fields, [key]: called }]
  return [
    { ...fields, [key]: { ...called, [name]: '' } },
    ...pieces.map((part) => ({ [key]: { [name]: part } })),
  ]
}

type Draft = Record<string, unknown>
interface ChoiceDraft {
  readonly fields: Draft
  readonly message: Draft
  readonly calls: Map<number, Draft>
}

/** Text of a delta that comes in pieces; all else comes whole. */
const PIECEMEAL = new Set(['content', 'refusal', 'reasoning_content', 'reasoning'])
/** Padding and framing that belong to a chunk, not to what the chunks add up to. */
const OF_CHUNK = new Set(['object', 'choices', 'obfuscation'])

/** Adds the chunks of a stream up to the completion an unstreamed call would have given. */
export const assembleChat = (events: readonly SseEvent[]): JsonRecord => {
  const rest: Draft = {}
  const choices = new Map<number, ChoiceDraft>()
  for (const { data } of events) {
    const chunk = recordOf(parseJson(data))
    for (const [key, value] of Object.entries(chunk)) {
      if (!OF_CHUNK.has(key)) setUnlessNull(rest, key, value)
    }
    for (const choice of recordsOf(chunk['choices'])) addChoice(choices, choice)
  }
  const { id, created, model, ...others } = rest
  return {
    ...(id !== undefined && { id }),
    object: 'chat.completion',
    ...(created !== undefined && { created }),
    ...(model !== undefined && { model }),
    choices: [...choices.entries()]
      .toSorted(([left], [right]) => left - right)
      .map(([index, draft]) => closeChoice(index, draft)),
    ...others,
  }
}

const setUnlessNull = (target: Draft, key: string, value: unknown): void => {
  if (value !== null || !Object.hasOwn(target, key)) target[key] = value
}

const addChoice = (choices: Map<number, ChoiceDraft>, choice: JsonRecord): void => {
  const { index: position, delta, logprobs, ...fields } = choice
  const index = countOf(position) ?? 0
  const draft: ChoiceDraft = choices.get(index) ?? { fields: {}, message: {}, calls: new Map() }
  choices.set(index, draft)
  for (const [key, value] of Object.entries(fields)) setUnlessNull(draft.fields, key, value)
  if (logprobs !== undefined) addLogprobs(draft.fields, logprobs)
  for (const [key, value] of Object.entries(recordOf(delta))) {
    if (key === 'tool_calls') for (const part of recordsOf(value)) addToolCall(draft, part)
    else if (key === 'function_call') addFunction(draft.message, key, value)
    else addField(draft.message, key, value)
  }
}

const addField = (message: Draft, key: string, value: unknown): void => {
  const { [key]: earlier } = message
  // Mistral changes between text and a list of parts within one answer.
  const isListed = key === 'content' && (Array.isArray(earlier) || Array.isArray(value))
  if (isListed) message[key] = [...partsOf(earlier), ...partsOf(value)]
  else if (PIECEMEAL.has(key) && typeof value === 'string') message[key] = textOf(earlier) + value
  else if (Array.isArray(value)) message[key] = [...listOf(earlier), ...listOf(value)]
  else setUnlessNull(message, key, value)
}

const partsOf = (content: unknown): readonly unknown[] =>
  typeof content === 'string' && content !== ''
    ? [{ type: 'text', text: content }]
    : listOf(content)

/** Lists of log probabilities, one for the content and one for a refusal, grow. */
const addLogprobs = (fields: Draft, logprobs: unknown): void => {
  const { logprobs: earlier } = fields
  if (!isRecord(logprobs) || !isRecord(earlier)) {
    setUnlessNull(fields, 'logprobs', logprobs)
    return
  }
  const grown: Draft = { ...earlier }
  for (const [key, value] of Object.entries(logprobs)) addField(grown, key, value)
  fields['logprobs'] = grown
}

const addToolCall = (draft: ChoiceDraft, part: JsonRecord): void => {
  const { index: position, ...fields } = part
  const index = callIndex(draft, part, countOf(position))
  const call = draft.calls.get(index) ?? {}
  draft.calls.set(index, call)
  for (const [key, value] of Object.entries(fields)) {
    if (key === 'function' || key === 'custom') addFunction(call, key, value)
    else if (call[key] === undefined || call[key] === '') call[key] = value
  }
}

/** Gemini's compatible server numbers every call 0; another id with a name is another call. */
const callIndex = (
  { calls }: ChoiceDraft,
  { id, function: called }: JsonRecord,
  index: number | undefined,
): number => {
  const known = index === undefined ? undefined : calls.get(index)
  const isOther = textOf(id) !== '' && textOf(known?.['id']) !== '' && id !== known?.['id']
  const isNamed = textOf(recordOf(called)['name']) !== ''
  return index === undefined || (isOther && isNamed) ? Math.max(-1, ...calls.keys()) + 1 : index
}

/** Name, arguments and input come in pieces. */
const addFunction = (target: Draft, key: string, value: unknown): void => {
  const made: Draft = { ...recordOf(target[key]) }
  for (const [name, piece] of Object.entries(recordOf(value))) {
    if (typeof piece === 'string') made[name] = textOf(made[name]) + piece
    else setUnlessNull(made, name, piece)
  }
  target[key] = made
}

const closeChoice = (index: number, { fields, message, calls }: ChoiceDraft): JsonRecord => {
  const { finish_reason = null, ...others } = fields
  const toolCalls = [...calls.entries()]
    .toSorted(([left], [right]) => left - right)
    .map(([, call]) => closeCall(call))
  return {
    index,
    message: { ...message, ...(toolCalls.length > 0 && { tool_calls: toolCalls }) },
    ...others,
    finish_reason,
  }
}

/** Some servers leave out the type, which is then a function. */
const closeCall = ({ id, type, ...others }: Draft): JsonRecord => ({
  ...(id !== undefined && { id }),
  type: type ?? (others['custom'] === undefined ? 'function' : 'custom'),
  ...others,
})
