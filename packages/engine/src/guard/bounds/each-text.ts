import { GuardError } from '../guard-error.js'
import { guardErrors } from '../guard-errors.js'

/** How many texts are looked at; a value with more is refused, never passed on unseen. */
const TEXT_LIMIT = 100_000

/**
 * Visits every text in a value with its path, keys of objects and members of maps and
 * sets included, until `visit` returns something. Bytes are visited as the text they hold.
 * Takes data as a tape gives it back, without cycles; throws a `GuardError` when there is
 * more of it than is looked at.
 */
export function eachText<T>(
  value: unknown,
  visit: (text: string, at: string) => T | undefined,
): T | undefined {
  let left = TEXT_LIMIT
  const look = (each: unknown, at: string): T | undefined => {
    if (typeof each === 'string') {
      if (left-- <= 0)
        throw new GuardError(guardErrors.argumentsTooLarge(`more than ${TEXT_LIMIT} texts`))
      return visit(each, at)
    }
    if (typeof each === 'symbol') return look(each.description ?? '', at)
    if (typeof each !== 'object' || each === null) return undefined
    const text = textOf(each)
    if (text !== undefined) return look(text, at)
    for (const [key, member] of membersOf(each)) {
      const place = pathTo(at, key)
      const isNamed = !Array.isArray(each) && !(each instanceof Set)
      const found = (isNamed ? look(key, place) : undefined) ?? look(member, place)
      if (found !== undefined) return found
    }
    return undefined
  }
  return look(value, '')
}

/** Of an object that holds one text. */
function textOf(value: object): string | undefined {
  if (value instanceof URL) return value.href
  if (value instanceof RegExp) return value.source
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
  return value instanceof ArrayBuffer ? Buffer.from(value).toString() : undefined
}

function membersOf(value: object): Iterable<readonly [unknown, unknown]> {
  if (value instanceof Map) return value as Map<unknown, unknown>
  if (value instanceof Set) return [...(value as Set<unknown>)].entries()
  if (!(value instanceof Error)) return Object.entries(value)
  const { message, name, cause } = value
  return [...Object.entries({ message, name, cause }), ...Object.entries(value)]
}

const pathTo = (at: string, key: unknown): string => {
  const name = typeof key === 'string' || typeof key === 'number' ? String(key) : '(key)'
  return at === '' ? name : `${at}.${name}`
}
