import { closestName } from '@retake/engine/errors'

/** Says what is wrong, with its path. */
export type Fail = (at: string, what: string) => never

/** Refuses members that mean nothing: they are misspelt. */
export function unknownKeys(
  value: Readonly<Record<string, unknown>>,
  known: readonly string[],
  at: string,
  fail: Fail,
): void {
  const key = Object.keys(value).find((each) => !known.includes(each))
  if (key === undefined) return
  const close = closestName(key, known)
  const path = at === '' ? key : `${at}.${key}`
  fail(
    path,
    close === undefined
      ? `is not known; there are ${known.join(', ')}.`
      : `is not known; did you mean ${close}?`,
  )
}

/** The value as an object, if it is one. */
export const record = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined

/** What a wrong value is, for people. */
export const nameOf = (value: unknown): string => {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'function' ? 'a function' : JSON.stringify(value)
}
