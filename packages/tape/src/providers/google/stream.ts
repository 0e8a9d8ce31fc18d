import {
  countOf,
  isRecord,
  type JsonRecord,
  listOf,
  recordOf,
  recordsOf,
  textOf,
} from '../../values/json-shape.js'
import type { StreamEvent, StreamOptions } from '../provider.js'
import { textPieces, type CutText } from '../reply.js'

/**
 * An answer of Gemini as the chunks of a stream. The last chunk of a candidate
 * says why it ended, the last chunk of all has the usage. Two adjacent parts of
 * text become one when streamed.
 */
export const restreamContent = (
  answer: JsonRecord,
  { cut = textPieces }: StreamOptions,
): StreamEvent[] => {
  const { candidates, usageMetadata, error, ...rest } = answer
  const chunks: JsonRecord[] = recordsOf(candidates)
    .flatMap((candidate, index) => candidatePieces(candidate, index, cut))
    .map((candidate) => ({ candidates: [candidate], ...rest }))
  const last = chunks.at(-1) ?? rest
  const counted = usageMetadata === undefined ? last : { ...last, usageMetadata }
  const isEmpty = chunks.length === 0 && Object.keys(counted).length === 0
  const whole = isEmpty ? [] : [...chunks.slice(0, -1), counted]
  const failed = error === undefined || error === null ? [] : [{ error }]
  return [...whole, ...failed].map((data) => ({ data }))
}

const candidatePieces = (candidate: JsonRecord, position: number, cut: CutText): JsonRecord[] => {
  const { content, index = position, ...ended } = candidate
  const { parts, ...about } = recordOf(content)
  const pieces = recordsOf(parts).flatMap((part) => partPieces(part, cut))
  if (pieces.length === 0) return [{ ...(content !== undefined && { content }), index, ...ended }]
  return pieces.map((piece, at) => ({
    content: { ...about, parts: [piece] },
    index,
    ...(at === pieces.length - 1 && ended),
  }))
}

/** A text in pieces, the signature of a thought with the last; anything else comes whole. */
const partPieces = (part: JsonRecord, cut: CutText): JsonRecord[] => {
  const { text, thought, ...others } = part
  if (typeof text !== 'string' || text === '') return [part]
  const pieces = cut(text)
  return pieces.map((piece, at) => ({
    text: piece,
    ...(thought !== undefined && { thought }),
    ...(at === pieces.length - 1 && others),
  }))
}

/** Deeper paths are not arguments of a function. */
const DEPTH_MAX = 100
/** Larger indexes are not those of a list that a model wrote piece by piece. */
const INDEX_MAX = 10_000

/**
 * Adds the next piece of a function call that Vertex streams: its arguments
 * come as values with the path where they belong, and texts in several pieces.
 */
const addPartialArgs = (call: JsonRecord, piece: JsonRecord): JsonRecord => {
  const { partialArgs, willContinue, ...named } = piece
  let args: unknown = call['args'] ?? {}
  for (const part of recordsOf(partialArgs)) {
    const path = keysOf(textOf(part['jsonPath']))
    if (path.length > 0) args = withValue(args, path, part)
  }
  const { willContinue: _, ...known } = call
  return { ...known, ...named, args, ...(willContinue === true && { willContinue }) }
}

/** `$.stops[0].city` and `$['stops'][0]` as a list of names and numbers. */
const keysOf = (path: string): readonly (string | number)[] => {
  const keys = [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]/g)].map(
    ([, name, index, quoted]) => (index === undefined ? (name ?? quoted ?? '') : Number(index)),
  )
  const isSane = keys.length <= DEPTH_MAX && keys.every((key) => key !== '__proto__')
  return isSane && keys.every((key) => (countOf(key) ?? 0) <= INDEX_MAX) ? keys : []
}

const withValue = (
  target: unknown,
  [key, ...rest]: readonly (string | number)[],
  part: JsonRecord,
): unknown => {
  if (key === undefined) return valueOf(target, part)
  if (typeof key === 'number') {
    const list = [...listOf(target)]
    list[key] = withValue(list[key], rest, part)
    return list
  }
  const record = isRecord(target) ? target : {}
  return { ...record, [key]: withValue(record[key], rest, part) }
}

const valueOf = (earlier: unknown, part: JsonRecord): unknown => {
  const { stringValue, numberValue, boolValue } = part
  if (typeof stringValue === 'string') return textOf(earlier) + stringValue
  if ('nullValue' in part) return null
  return numberValue ?? boolValue ?? earlier
}

type Draft = Record<string, unknown>
interface CandidateDraft {
  readonly fields: Draft
  readonly content: Draft
  readonly parts: JsonRecord[]
}

/** Adds the chunks of a stream up to the answer an unstreamed call would have given. */
export const assembleContent = (chunks: readonly JsonRecord[]): JsonRecord => {
  const rest: Draft = {}
  const candidates = new Map<number, CandidateDraft>()
  for (const { candidates: given, usageMetadata, ...fields } of chunks) {
    Object.assign(rest, fields)
    if (usageMetadata !== undefined)
      rest['usageMetadata'] = laterCounts(recordOf(rest['usageMetadata']), recordOf(usageMetadata))
    for (const candidate of recordsOf(given)) addCandidate(candidates, candidate)
  }
  if (candidates.size === 0) return rest
  const ordered = [...candidates.entries()].toSorted(([left], [right]) => left - right)
  return { candidates: ordered.map(([index, draft]) => closeCandidate(index, draft)), ...rest }
}

/**
 * Counts are running totals, and a count that a chunk omits keeps its value. When Google
 * runs a tool in between, counting restarts, and the counts of the chunk apply.
 */
const laterCounts = (earlier: JsonRecord, later: JsonRecord): JsonRecord => {
  const total = countOf(later['totalTokenCount'])
  const merged = { ...earlier, ...later }
  return total !== undefined && total === sumOf(later) && total !== sumOf(merged) ? later : merged
}

const PARTS_OF_TOTAL = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
]

const sumOf = (counts: JsonRecord): number =>
  PARTS_OF_TOTAL.reduce((sum, key) => sum + (countOf(counts[key]) ?? 0), 0)

const addCandidate = (candidates: Map<number, CandidateDraft>, candidate: JsonRecord): void => {
  const { index: position, content, ...fields } = candidate
  const index = countOf(position) ?? 0
  const draft = candidates.get(index) ?? { fields: {}, content: {}, parts: [] }
  candidates.set(index, draft)
  const { parts, ...about } = recordOf(content)
  Object.assign(draft.fields, fields)
  Object.assign(draft.content, about)
  for (const part of recordsOf(parts)) addPart(draft.parts, part)
}

/** Text goes on where the text before it ended, unless one is a thought and the other is not. */
const addPart = (parts: JsonRecord[], part: JsonRecord): void => {
  const last = parts.at(-1)
  const open = recordOf(last?.['functionCall'])
  if (isRecord(part['functionCall']) && open['willContinue'] === true) {
    parts[parts.length - 1] = { ...last, functionCall: addPartialArgs(open, part['functionCall']) }
    return
  }
  const goesOn =
    typeof part['text'] === 'string' &&
    typeof last?.['text'] === 'string' &&
    (last['thought'] === true) === (part['thought'] === true)
  if (goesOn)
    parts[parts.length - 1] = { ...last, ...part, text: last['text'] + textOf(part['text']) }
  else parts.push(part)
}

const closeCandidate = (index: number, draft: CandidateDraft): JsonRecord => ({
  index,
  content: { ...draft.content, parts: draft.parts },
  ...draft.fields,
})
