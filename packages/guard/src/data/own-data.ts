/**
 * A copy without a prototype, and of its data without theirs. A tool that merges its arguments
 * carelessly can add properties to `Object.prototype`, which must not become options or rules.
 * Functions and instances of classes stay as they are.
 */
export function ownData<T>(data: T): T {
  if (Array.isArray(data)) return data.map(ownData) as T
  return isPlain(data) ? fill(data, ownData) : data
}

/** Like `ownData`, but members stay as they are. */
export const ownFields = <T extends object>(data: T): T =>
  isPlain(data) ? fill(data, (member) => member) : data

/** The opposite of `ownData`, for data that is only written to a tape. */
export function ordinaryData(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(ordinaryData)
  if (!isPlain(data)) return data
  return Object.fromEntries(
    Object.entries(data).map(([key, member]) => [key, ordinaryData(member)]),
  )
}

function fill<T extends object>(data: T, copy: (member: unknown) => unknown): T {
  const copied = Object.create(null) as Record<string, unknown>
  for (const key of Object.keys(data)) copied[key] = copy((data as Record<string, unknown>)[key])
  return copied as T
}

/** Also true for plain objects of other realms. */
function isPlain(data: unknown): data is object {
  if (typeof data !== 'object' || data === null) return false
  const prototype: unknown = Object.getPrototypeOf(data)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
