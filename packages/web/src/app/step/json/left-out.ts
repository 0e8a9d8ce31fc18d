/** How many members a limit left out of a value; undefined when it has all. See `Clipped`. */
export function leftOutOf(key: string | undefined, value: unknown): number | undefined {
  if (key === '$leftOut' && typeof value === 'number') return value
  if (typeof value !== 'object' || value === null || !('$leftOut' in value)) return undefined
  const { $leftOut: count, ...rest } = value
  return typeof count === 'number' && Object.keys(rest).length === 0 ? count : undefined
}
