import { isRecord } from './json-shape.js'

/**
 * Checks of JSON from strangers. A check returns what is wrong, or `undefined`. Unknown fields are
 * ignored.
 */
export type Check = (value: unknown) => string | undefined
export type Fields = Readonly<Record<string, Check>>

/** The latest time that a `Date` can represent is 8.64e15. */
const TIME_MAX_MS = 4e15
const ID_MAX_LENGTH = 200
/** As the name of a tape file without its extension: an id becomes part of paths. */
const RUN_ID = /^[\w-][\w.-]*$/
const HASH = /^[0-9a-f]{64}$/

export const any: Check = () => undefined
export const text: Check = (value) => (typeof value === 'string' ? undefined : 'is not a text')
export const flag: Check = (value) =>
  typeof value === 'boolean' ? undefined : 'is not true or false'
export const number: Check = (value) => (Number.isFinite(value) ? undefined : 'is not a number')
export const whole: Check = (value) =>
  Number.isSafeInteger(value) ? undefined : 'is not a whole number'
export const natural: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : 'is not a whole number from 0'
export const positive: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? undefined : 'is not a whole number from 1'
export const time: Check = (value) =>
  Number.isFinite(value) && (value as number) >= 0 && (value as number) <= TIME_MAX_MS
    ? undefined
    : 'is not a time'
export const hash: Check = (value) =>
  typeof value === 'string' && HASH.test(value) ? undefined : 'is not a sha256'
export const runId: Check = (value) =>
  typeof value === 'string' && value.length <= ID_MAX_LENGTH && RUN_ID.test(value)
    ? undefined
    : 'is not the id of a run'

export const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value)

export const oneOf = (...values: readonly unknown[]): Check => {
  const allowed = new Set(values)
  return (value) => (allowed.has(value) ? undefined : 'has an unknown value')
}

export const listOf =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return 'is not a list'
    for (const member of value) {
      const problem = check(member)
      if (problem !== undefined) return `has a member that ${problem}`
    }
    return undefined
  }

export const mapOf =
  (check: Check): Check =>
  (value) => {
    if (!isRecord(value)) return 'is not an object'
    for (const member of Object.values(value)) {
      const problem = check(member)
      if (problem !== undefined) return `has a member that ${problem}`
    }
    return undefined
  }

/** A check of an object that names the fields it knows. */
export type ObjectCheck = Check & { readonly fields: ReadonlySet<string> }

export function object(fields: Fields): ObjectCheck {
  const entries = Object.entries(fields).filter(([, field]) => field !== any)
  const check: Check = (value) => {
    if (!isRecord(value)) return 'is not an object'
    for (const [name, field] of entries) {
      // Own fields only: a field named like a member of `Object.prototype` is not there.
      const problem = field(Object.hasOwn(value, name) ? value[name] : undefined)
      if (problem !== undefined) return `has a field "${name}" that ${problem}`
    }
    return undefined
  }
  return Object.assign(check, { fields: new Set(Object.keys(fields)) })
}

export const pairs: Check = (value) => {
  if (!Array.isArray(value)) return 'is not a list'
  const isRight = value.every(
    (pair) =>
      Array.isArray(pair) &&
      pair.length === 2 &&
      typeof pair[0] === 'string' &&
      typeof pair[1] === 'string',
  )
  return isRight ? undefined : 'is not a list of names and values'
}
