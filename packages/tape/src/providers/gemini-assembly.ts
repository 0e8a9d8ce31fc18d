import { addPartialArgs } from './gemini-partial-args.js'
import { countOf, isRecord, recordOf, recordsOf, textOf, type JsonRecord } from './json-shape.js'

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
 * Counts are running totals; those that a chunk leaves out stay. Where Google
 * runs a tool in between it counts anew, and then the chunk's own counts hold.
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
  const { index: place, content, ...fields } = candidate
  const index = countOf(place) ?? 0
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
