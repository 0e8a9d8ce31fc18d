import {
  defined,
  errorMessage,
  type JsonRecord,
  optionalText,
} from '../../format/values/json-shape.js'
import type { DecodedResponse } from './provider.js'
import { tokensOf } from './reply.js'
import { NO_USAGE } from './usage.js'

/** The answer of an embeddings API, which has usage but no messages. */
export const decodeEmbedding = (
  answer: JsonRecord,
  isThere: boolean,
  input: number | undefined,
): DecodedResponse =>
  defined({
    messages: [],
    usage: input === undefined ? undefined : { ...NO_USAGE, input },
    finishReason: isThere ? (optionalText(answer['finishReason']) ?? 'embedded') : undefined,
    error: errorMessage(isThere ? { error: answer['error'] } : answer),
  })

const DIMENSIONS = 64

/**
 * A made-up unit vector from the words of a text: texts with common words are near each other, and
 * equal texts have equal vectors. Not promised: anything about meaning.
 */
export const embeddingVector = (text: string, dimensions: unknown = DIMENSIONS): number[] => {
  const size =
    typeof dimensions === 'number' && dimensions > 0 ? Math.floor(dimensions) : DIMENSIONS
  const vector = Array.from({ length: size }, () => 0)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    // FNV-1a
    let hash = 0x811c9dc5
    for (const character of word)
      hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
    hash >>>= 0
    const at = hash % size
    vector[at] = (vector[at] ?? 0) + (hash & 0x10000 ? 1 : -1)
  }
  const length = Math.hypot(...vector)
  return length === 0
    ? vector.map((_, index) => (index === 0 ? 1 : 0))
    : vector.map((value) => Math.round((value / length) * 1e6) / 1e6)
}

/** One text, several, or lists of tokens that represent texts. */
export const textsIn = (input: unknown): string[] => {
  if (!Array.isArray(input)) return [String(input)]
  return input.every((item) => typeof item === 'number')
    ? [input.join(' ')]
    : input.map((item: unknown) => (Array.isArray(item) ? item.join(' ') : String(item)))
}

export const countTokens = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Math.max(1, tokensOf(text)), 0)
