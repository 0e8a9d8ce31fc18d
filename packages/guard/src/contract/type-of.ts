/** Type of a value, as schema libraries name it. */
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

/** Other names of the types that `typeOf` returns. */
const SYNONYMS: Readonly<Record<string, string>> = {
  int: 'number',
  integer: 'number',
  nan: 'number',
  record: 'object',
  tuple: 'array',
}

/** The types in a text such as `a number` or `(string | null)`; empty if there is anything else. */
export function typesIn(expected: string): readonly string[] {
  const parts = expected
    .replace(/^\(|\)$/g, '')
    .split(/\s*(?:\||,|\bor\b)\s*/)
    .map((part) => part.replace(/^an? |"/g, '').toLowerCase())
    .map((part) => SYNONYMS[part] ?? part)
  return parts.every((part) => TYPES.test(part)) ? parts : []
}
