/** Type of a value, in the words of schemas. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value !== 'object') return typeof value
  if (Array.isArray(value)) return 'array'
  if (isBytes(value)) return 'bytes'
  if (value instanceof Date) return 'date'
  if (value instanceof Map) return 'map'
  if (value instanceof Set) return 'set'
  if (value instanceof Error) return 'error'
  return 'object'
}

export const isBytes = (value: unknown): boolean =>
  ArrayBuffer.isView(value) || value instanceof ArrayBuffer

const TYPES =
  /^(?:string|number|boolean|bigint|object|array|null|undefined|date|map|set|symbol|function)$/

/** Other words of schema libraries for types of `typeOf`. */
const SYNONYMS: Readonly<Record<string, string>> = {
  int: 'number',
  integer: 'number',
  nan: 'number',
  record: 'object',
  tuple: 'array',
}

/** The types in an expectation such as `a number` or `(string | null)`; empty for other texts. */
export function typesIn(expected: string): readonly string[] {
  const parts = expected
    .replace(/^\(|\)$/g, '')
    .split(/\s*(?:\||,|\bor\b)\s*/)
    .map((part) => part.replace(/^an? |"/g, '').toLowerCase())
    .map((part) => SYNONYMS[part] ?? part)
  return parts.every((part) => TYPES.test(part)) ? parts : []
}
