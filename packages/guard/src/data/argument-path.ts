import { isTooDeep, keyPathText } from '@retake/tape/format'

type Part =
  | { readonly kind: 'key'; readonly key: string; readonly index: number }
  | { readonly kind: 'each' }
  | { readonly kind: 'deep' }

/** Called with each value; undefined if it is missing. A return value ends the walk. */
export type PathVisit<T> = (value: unknown, at: readonly (string | number)[]) => T | undefined

let look = 0

/** Call before each synchronous evaluation. Within it, a path shared by rules is followed once. */
export const startEvaluation = (): void => {
  look += 1
}

/** A compiled path into arguments. `When` documents the syntax. */
export class ArgumentPath {
  readonly #parts: readonly Part[]
  readonly #values: unknown[] = []
  #look = -1
  #lookedAt: unknown

  constructor(readonly text: string) {
    const parts = text === '.' ? [] : (splitPath(text) ?? [])
    this.#parts = parts.map(({ key, isQuoted }) => {
      if (!isQuoted && key === '*') return { kind: 'each' }
      if (!isQuoted && key === '**') return { kind: 'deep' }
      return { kind: 'key', key, index: /^(?:0|[1-9]\d{0,8})$/.test(key) ? Number(key) : -1 }
    })
  }

  /** The values that `each` visits. Valid until the next `startEvaluation`. */
  valuesIn(args: unknown): readonly unknown[] {
    if (this.#look === look && this.#lookedAt === args) return this.#values
    this.#look = look
    this.#lookedAt = args
    this.#values.length = 0
    this.each(args, (value) => void this.#values.push(value))
    return this.#values
  }

  /** Visits every value at the path; undefined where the rest of the path is missing. */
  each<T>(args: unknown, visit: PathVisit<T>): T | undefined {
    const at: (string | number)[] = []
    const parts = this.#parts
    const follow = (value: unknown, index: number): T | undefined => {
      const part = parts[index]
      if (part === undefined || value === UNREADABLE) return visit(value, at)
      if (part.kind === 'key') {
        // Names also apply inside a list or JSON text, because models may send `[{ "amount": 5000 }]`.
        const parsed = parsedText(value)
        if (parsed !== undefined || (Array.isArray(value) && part.index < 0)) {
          const members = parsed === undefined ? value : [parsed]
          return eachMember(members, at, (member) => follow(member, index))
        }
        const member = memberOf(value, part)
        at.push(part.key)
        const found = member === undefined ? visit(undefined, at) : follow(member, index + 1)
        at.pop()
        return found
      }
      if (part.kind === 'each') {
        const members = parsedText(value) ?? value
        // Many tools accept a string in place of a list.
        if (typeof members === 'string') return follow(members, index + 1)
        return eachMember(members, at, (member) => follow(member, index + 1))
      }
      return dive(value, index)
    }
    const dive = (value: unknown, index: number): T | undefined => {
      if (value === UNREADABLE) return visit(value, at)
      const next = parts[index + 1]
      if (next === undefined) {
        const found = isContainer(value) ? undefined : follow(value, index + 1)
        if (found !== undefined) return found
      } else if (next.kind === 'key') {
        const member = memberOf(parsedText(value) ?? value, next)
        if (member !== undefined) {
          at.push(next.key)
          const found = follow(member, index + 2)
          at.pop()
          if (found !== undefined) return found
        }
      } else {
        const found = follow(value, index + 1)
        if (found !== undefined) return found
      }
      return eachMember(parsedText(value) ?? value, at, (member) => dive(member, index))
    }
    return follow(args, 0)
  }
}

const JSON_TEXT_MAX = 10_000_000

/** Levels that are visited. Each takes several stack frames, and the caller may have used many. */
const DEPTH_MAX = 500

let lastParsed: { readonly text: string; readonly value: ReturnType<typeof parse> } | undefined

/** Stands for the content of a JSON text that is too long to parse, and for values below `DEPTH_MAX`. */
export const UNREADABLE = Symbol('too much JSON')

/** The object or list in a JSON text, which may be nested JSON; undefined for other values. */
export function parsedText(value: unknown): object | typeof UNREADABLE | undefined {
  if (typeof value !== 'string' || !/^\s*(?:[{[]|"\s*[{["\\])/.test(value)) return undefined
  if (value.length > JSON_TEXT_MAX) return UNREADABLE
  if (lastParsed?.text !== value) lastParsed = { text: value, value: parse(value) }
  return lastParsed.value
}

/** The string in a JSON text that is one string, such as `"\\u0065vil"`; undefined for other values. */
export function decodedString(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^\s*"/.test(value) || value.length > JSON_TEXT_MAX)
    return undefined
  try {
    let found: unknown = value
    // A JSON text may be encoded more than once.
    while (typeof found === 'string' && /^\s*"/.test(found)) found = JSON.parse(found.trim())
    return typeof found === 'string' ? found : undefined
  } catch {
    return undefined
  }
}

function parse(text: string): object | typeof UNREADABLE | undefined {
  try {
    let found: unknown = text
    // Many tools remove a byte order mark before they parse.
    let json = ''
    while (typeof found === 'string') {
      json = found.trim()
      found = JSON.parse(json)
    }
    if (typeof found !== 'object' || found === null) return undefined
    return isTooDeep(json, DEPTH_MAX) ? UNREADABLE : found
  } catch {
    return undefined
  }
}

/** A path such as `items[0].sku`; `arguments` if it is empty. */
export const argumentText = (at: readonly (string | number)[]): string =>
  keyPathText(at) || 'arguments'

export function pathProblem(text: string): string | undefined {
  if (text === '') return 'A path is empty. Use `.` for the arguments themselves.'
  if (text === '.') return undefined
  const parts = splitPath(text)
  if (parts === undefined) return `"${text}" has a bracket without a number.`
  if (parts.some(({ key }) => key === '')) return `"${text}" has an empty part.`
  if (parts.filter(({ key, isQuoted }) => key === '**' && !isQuoted).length > 2)
    return `"${text}" has more than two \`**\`.`
  const mixed = parts.find(({ key, isQuoted }) => !isQuoted && /^(?!\*\*?$).*\*/.test(key))
  if (mixed) return `"${mixed.key}" in "${text}": \`*\` must be a whole part of a path.`
  return undefined
}

interface SplitPart {
  readonly key: string
  /** Contains a backslash, so `*` is a plain character. */
  readonly isQuoted: boolean
}

function splitPath(text: string): SplitPart[] | undefined {
  const parts: { key: string; isQuoted: boolean }[] = []
  let current = { key: '', isQuoted: false }
  let isOpen = true
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at)
    if (char === '\\' && at + 1 < text.length) {
      at += 1
      current.key += text.charAt(at)
      current.isQuoted = true
      isOpen = true
    } else if (char === '.') {
      if (isOpen) parts.push(current)
      current = { key: '', isQuoted: false }
      isOpen = true
    } else if (char === '[') {
      const bracket = /^\[(\d+|\*)\]/.exec(text.slice(at))
      if (bracket === null) return undefined
      if (isOpen && (current.key !== '' || at > 0)) parts.push(current)
      parts.push({ key: bracket[1] ?? '', isQuoted: false })
      current = { key: '', isQuoted: false }
      at += bracket[0].length - 1
      isOpen = false
    } else {
      current.key += char
      isOpen = true
    }
  }
  if (isOpen) parts.push(current)
  return parts
}

const isContainer = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !(value instanceof Date) &&
  !ArrayBuffer.isView(value) &&
  !(value instanceof URL) &&
  !(value instanceof RegExp)

function memberOf(value: unknown, part: { key: string; index: number }): unknown {
  if (!isContainer(value)) return undefined
  if (value instanceof Map) return value.has(part.key) ? value.get(part.key) : value.get(part.index)
  if (Array.isArray(value)) return part.index < 0 ? undefined : (value as unknown[])[part.index]
  if (value instanceof Set) return part.index < 0 ? undefined : [...value][part.index]
  return Object.hasOwn(value, part.key)
    ? (value as Readonly<Record<string, unknown>>)[part.key]
    : undefined
}

function eachMember<T>(
  value: unknown,
  at: (string | number)[],
  visit: (member: unknown) => T | undefined,
): T | undefined {
  if (value === UNREADABLE) return visit(value)
  if (!isContainer(value)) return undefined
  if (at.length >= DEPTH_MAX) return visit(UNREADABLE)
  if (!(value instanceof Map || value instanceof Set)) {
    const object = value as Readonly<Record<string, unknown>>
    for (const key of Object.keys(object)) {
      at.push(key)
      const found = visit(object[key])
      at.pop()
      if (found !== undefined) return found
    }
    return undefined
  }
  const entries: Iterable<[unknown, unknown]> = value instanceof Map ? value : [...value].entries()
  for (const [key, member] of entries) {
    at.push(typeof key === 'number' ? key : String(key))
    const found = visit(member)
    at.pop()
    if (found !== undefined) return found
  }
  return undefined
}
