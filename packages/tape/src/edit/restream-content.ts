import { recordOf, recordsOf, type JsonRecord } from '../providers/json-shape.js'
import { sseText } from '../http/sse-text.js'
import { textPieces } from './text-pieces.js'

/**
 * An answer of Gemini as the chunks of a stream. What ends a candidate stands
 * in its last chunk, the counts of tokens in the last of all. Two neighbouring
 * parts of text are one when they have been streamed.
 */
export const restreamContent = (answer: JsonRecord): string[] => {
  const { candidates, usageMetadata, error, ...rest } = answer
  const chunks: JsonRecord[] = recordsOf(candidates)
    .flatMap(candidatePieces)
    .map((candidate) => ({ candidates: [candidate], ...rest }))
  const last = chunks.at(-1) ?? rest
  const counted = usageMetadata === undefined ? last : { ...last, usageMetadata }
  const isEmpty = chunks.length === 0 && Object.keys(counted).length === 0
  const whole = isEmpty ? [] : [...chunks.slice(0, -1), counted]
  const failed = error === undefined || error === null ? [] : [{ error }]
  return [...whole, ...failed].map((chunk) => sseText(chunk))
}

const candidatePieces = (candidate: JsonRecord, position: number): JsonRecord[] => {
  const { content, index = position, ...ended } = candidate
  const { parts, ...about } = recordOf(content)
  const pieces = recordsOf(parts).flatMap(partPieces)
  if (pieces.length === 0) return [{ ...(content !== undefined && { content }), index, ...ended }]
  return pieces.map((piece, at) => ({
    content: { ...about, parts: [piece] },
    index,
    ...(at === pieces.length - 1 && ended),
  }))
}

/** A text in pieces, the signature of a thought with the last; anything else comes whole. */
const partPieces = (part: JsonRecord): JsonRecord[] => {
  const { text, thought, ...others } = part
  if (typeof text !== 'string' || text === '') return [part]
  const pieces = textPieces(text)
  return pieces.map((piece, at) => ({
    text: piece,
    ...(thought !== undefined && { thought }),
    ...(at === pieces.length - 1 && others),
  }))
}
