type JsonRecord = Readonly<Record<string, unknown>>

/** The objects of a list; none when it is no list. What clients send has any shape. */
export const recordsIn = (value: unknown): readonly JsonRecord[] =>
  Array.isArray(value) ? value.filter(isRecord) : []

export const recordIn = (value: unknown): JsonRecord => (isRecord(value) ? value : {})

const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
