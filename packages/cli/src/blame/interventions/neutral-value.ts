/** What is said in place of a text that made a difference: that nothing is known. */
export const NEUTRAL_TEXT = 'Nothing is known about this.'

/**
 * A value of the same shape that says nothing: objects keep their keys, lists are empty,
 * texts are empty, and all else is null, since 0 or false would be a statement. A text by
 * itself says that nothing is known.
 */
export function neutralValue(value: unknown): unknown {
  return typeof value === 'string' ? NEUTRAL_TEXT : blank(value)
}

function blank(value: unknown): unknown {
  if (typeof value === 'string') return ''
  if (Array.isArray(value)) return []
  if (!isRecord(value)) return null
  // A value that JSON does not have, such as a date, is written with this key.
  if ('$' in value) return null
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, blank(each)]))
}

/** An answer without content, of the same kind: an empty text, list or object, else null. */
export function emptyValue(value: unknown): unknown {
  if (typeof value === 'string') return ''
  if (Array.isArray(value)) return []
  return isRecord(value) && !('$' in value) ? {} : null
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
