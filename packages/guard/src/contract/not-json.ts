import { typeOf } from './type-of.js'

/** Something in a value that JSON has no form for. */
export interface NotJson {
  readonly path: readonly PropertyKey[]
  readonly found: string
}

/**
 * The first part of a value that is not JSON: bytes, dates, maps, functions, numbers
 * that are none, circles. Members of objects that are undefined count as not there.
 */
export function notJson(value: unknown): NotJson | undefined {
  const around = new Set<object>()
  const look = (each: unknown, path: readonly PropertyKey[]): NotJson | undefined => {
    const type = typeOf(each)
    if (type === 'number' && !Number.isFinite(each)) return { path, found: String(each) }
    if (type === 'string' || type === 'number' || type === 'boolean' || type === 'null')
      return undefined
    if (type !== 'object' && type !== 'array') return { path, found: type }
    const holder = each as object
    if (around.has(holder)) return { path, found: 'a circle' }
    around.add(holder)
    for (const [key, member] of Object.entries(holder)) {
      if (member === undefined && type === 'object') continue
      const odd = look(member, [...path, type === 'array' ? Number(key) : key])
      if (odd !== undefined) return odd
    }
    around.delete(holder)
    return undefined
  }
  return look(value, [])
}
