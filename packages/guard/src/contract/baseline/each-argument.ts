import { typeOf } from '../type-of.js'

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
