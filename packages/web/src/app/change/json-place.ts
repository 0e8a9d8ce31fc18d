/** A place in JSON: keys of objects and indexes of lists. */
export type JsonPlace = readonly (string | number)[]

/** A copy with another value at a place that exists. */
export function withValueAt(data: unknown, at: JsonPlace, value: unknown): unknown {
  const [key, ...rest] = at
  if (key === undefined) return value
  if (Array.isArray(data))
    return data.map((item: unknown, index) =>
      index === key ? withValueAt(item, rest, value) : item,
    )
  if (!isRecord(data)) return data
  return Object.fromEntries(
    Object.entries(data).map(([name, item]) => [
      name,
      name === key ? withValueAt(item, rest, value) : item,
    ]),
  )
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
