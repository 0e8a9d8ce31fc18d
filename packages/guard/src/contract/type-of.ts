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

/** Words of schema libraries for types, and those of `typeOf`. */
const WORDS: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  int: 'number',
  integer: 'number',
  nan: 'number',
  boolean: 'boolean',
  bigint: 'bigint',
  object: 'object',
  record: 'object',
  array: 'array',
  tuple: 'array',
  null: 'null',
  undefined: 'undefined',
  date: 'date',
  map: 'map',
  set: 'set',
  symbol: 'symbol',
  function: 'function',
}

/** The types in an expectation such as `a number` or `(string | null)`; empty for other texts. */
export function typesIn(expected: string): readonly string[] {
  const parts = expected
    .replace(/^\(|\)$/g, '')
    .split(/\s*(?:\||,|\bor\b)\s*/)
    .map((part) => WORDS[part.replace(/^an? |"/g, '').toLowerCase()])
  return parts.every((part) => part !== undefined) ? parts : []
}
