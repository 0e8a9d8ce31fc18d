const DIMENSIONS = 64

/**
 * A vector of length 1 made of the words of a text: texts with common words are
 * near each other, the same text always gets the same vector. It knows nothing
 * of meaning.
 */
export function embeddingVector(text: string, dimensions: unknown = DIMENSIONS): number[] {
  const size =
    typeof dimensions === 'number' && dimensions > 0 ? Math.floor(dimensions) : DIMENSIONS
  const vector = Array.from({ length: size }, () => 0)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    const hash = hashOf(word)
    const at = hash % size
    vector[at] = (vector[at] ?? 0) + (hash & 0x10000 ? 1 : -1)
  }
  const length = Math.hypot(...vector)
  return length === 0
    ? vector.map((_, index) => (index === 0 ? 1 : 0))
    : vector.map((value) => Math.round((value / length) * 1e6) / 1e6)
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  }
  return hash >>> 0
}
