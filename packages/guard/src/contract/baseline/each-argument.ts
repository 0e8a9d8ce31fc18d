import { typeOf } from '../type-of.js'

/** The beginning of a long text decides its shape; patterns are slow on more. */
const LOOKED_AT = 300

/** Coarse shape of a text: a sentence that becomes a path or an address is noticed. */
export function textShape(text: string): string {
  const looked = text.slice(0, LOOKED_AT)
  return SHAPES.find(([, pattern]) => pattern.test(looked))?.[0] ?? 'text'
}

const SHAPES: readonly (readonly [string, RegExp])[] = [
  ['empty', /^\s*$/],
  ['address', /^[a-z][a-z\d+.-]{1,20}:\/\//i],
  ['mail address', /^[^\s@]+@[^\s@]+\.[^\s@]+$/],
  ['date', /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?$/],
  ['number', /^[+-]?\d+(?:[.,]\d+)*$/],
  ['id', /^(?:[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}|[\da-f]{16,})$/i],
  ['path', /^(?:\.{0,2}[/\\]|~[/\\]|[a-z]:[/\\])|(?:^|[/\\])\.\.(?:[/\\]|$)/i],
  ['JSON', /^\s*[[{]/],
  ['code', /[`$;|<>]|&&|\w\(/],
]

/** Longer texts are not addresses. */
const LONGEST_ADDRESS = 8_000

/** Where a text leads to: the host of an address, the domain of a mail address. */
export function hostIn(text: string): string | undefined {
  if (text.length > LONGEST_ADDRESS) return undefined
  const mail = /^[^\s@]{1,300}@([^\s@.]+(?:\.[^\s@.]+)+)$/.exec(text)?.[1]
  if (mail !== undefined) return mail.toLowerCase()
  if (!/^[a-z][a-z\d+.-]{1,20}:\/\//i.test(text)) return undefined
  try {
    return new URL(text).hostname.toLowerCase()
  } catch {
    return undefined
  }
}

/** Arguments beyond this number are not looked at. */
const MOST = 5_000

/** Names of what is new in every call by its nature, without case, `_` and `-`. */
const NEVER = new Set([
  'correlationid',
  'createdat',
  'idempotencykey',
  'nonce',
  'requestid',
  'runid',
  'sessionid',
  'spanid',
  'stepid',
  'timestamp',
  'traceid',
  'updatedat',
])

export interface Argument {
  readonly path: string
  readonly value: unknown
}

/**
 * The single values in the arguments of a call. Members of a list share a path, so that
 * a longer list is not a new argument; those of the outermost list are the arguments of a
 * function, and are told apart.
 */
export function eachArgument(args: unknown, ignore: readonly string[] = []): Argument[] {
  const found: Argument[] = []
  const visit = (value: unknown, path: string, name: string): void => {
    if (found.length >= MOST) return
    if (NEVER.has(name.toLowerCase().replace(/[_-]/g, ''))) return
    if (ignore.includes(path) || (name !== '' && ignore.includes(name))) return
    if (Array.isArray(value))
      for (const [index, member] of value.entries())
        visit(member, path === '' ? `[${index}]` : `${path}[]`, '')
    else if (typeOf(value) === 'object')
      for (const [key, member] of Object.entries(value as object))
        visit(member, path === '' ? key : `${path}.${key}`, key)
    else if (value !== undefined) found.push({ path, value })
  }
  visit(args, '', '')
  return found
}
