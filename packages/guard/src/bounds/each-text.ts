import { GuardError } from '../guard-error.js'
import { guardErrors } from '../guard-errors.js'

/** How many texts are looked at; a value with more is refused, never passed on unseen. */
const TEXT_LIMIT = 100_000

/**
 * Visits every text in a value with its path, keys of objects and members of maps and
 * sets included, until `visit` returns something. Bytes are visited as the text they hold.
 * Takes data as a tape gives it back, without cycles; throws a `GuardError`, before anything
 * is visited, when there is more of it than is looked at.
 */
export function eachText<T>(
  value: unknown,
  visit: (text: string, at: string) => T | undefined,
): T | undefined {
  if (typeof value === 'string') return visit(value, '')
  const found: FoundText[] = []
  collect(value, '', found)
  for (const { text, at } of found) {
    const answer = visit(text, at)
    if (answer !== undefined) return answer
  }
  return undefined
}

interface FoundText {
  readonly text: string
  readonly at: string
}

function collect(value: unknown, at: string, found: FoundText[]): void {
  if (typeof value === 'symbol') return collect(value.description, at, found)
  const text = typeof value === 'object' && value !== null ? textOf(value) : value
  if (typeof text === 'string') {
    if (found.length >= TEXT_LIMIT)
      throw new GuardError(guardErrors.argumentsTooLarge(`more than ${TEXT_LIMIT} texts`))
    found.push({ text, at })
  }
  if (text !== undefined || typeof value !== 'object' || value === null) return
  const isNamed = !Array.isArray(value) && !(value instanceof Set)
  for (const [key, member] of membersOf(value)) {
    const location = pathTo(at, key)
    if (isNamed) collect(key, location, found)
    collect(member, location, found)
  }
}

/** Of an object that holds one text. */
function textOf(value: object): string | undefined {
  if (value instanceof URL) return value.href
  if (value instanceof RegExp) return value.source
  if (ArrayBuffer.isView(value))
    return textIn(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
  return value instanceof ArrayBuffer ? textIn(Buffer.from(value)) : undefined
}

/** Bytes with a null among them are an image, an archive, anything but text that the system takes. */
const textIn = (bytes: Buffer): string => (bytes.includes(0) ? '' : bytes.toString())

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
