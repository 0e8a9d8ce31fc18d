import { isRecord, type JsonRecord, parseJson } from '../../format/values/json-shape.js'

/** Lists the problems of a value in an answer, one line each, by path. */
export type Check = (value: unknown, path: string) => string[]

const lacks = (path: string, value: unknown, what: string): string[] => [
  `${path} ${value === undefined ? 'is missing' : what}`,
]

export const string: Check = (value, path) =>
  typeof value === 'string' ? [] : lacks(path, value, 'is not a string')

/** Tool call arguments: JSON, as text. */
export const jsonText: Check = (value, path) => {
  if (typeof value !== 'string') return [`${path} is not a string; arguments are JSON in a string`]
  return parseJson(value) === undefined ? [`${path} does not contain JSON`] : []
}

export const object: Check = (value, path) => (isRecord(value) ? [] : [`${path} is not an object`])

export const oneOf =
  (...allowed: readonly unknown[]): Check =>
  (value, path) => {
    if (allowed.includes(value)) return []
    const names = allowed.map((one) => JSON.stringify(one)).join(', ')
    return [`${path} is ${JSON.stringify(value) ?? 'missing'}; it can be ${names}`]
  }

/** Accepts a missing value, null, or a value that passes the check. */
export const optional =
  (check: Check): Check =>
  (value, path) =>
    value === undefined || value === null ? [] : check(value, path)

type Fields = Readonly<Record<string, Check>>

/** An object with these fields; `more` checks several of them together. */
export const shape =
  (
    fields: Fields,
    more: (record: JsonRecord, at: (key: string) => string) => string[] = () => [],
  ) =>
  (value: unknown, path = ''): string[] => {
    if (!isRecord(value)) return lacks(path || 'the answer', value, 'is not an object')
    const at = (key: string): string => (path === '' ? key : `${path}.${key}`)
    const checked = Object.entries(fields).flatMap(([key, check]) => check(value[key], at(key)))
    return [...checked, ...more(value, at)]
  }

/** An object whose fields depend on its type; an unknown type has no further requirements. */
export const byType =
  (fields: Readonly<Record<string, Fields>>): Check =>
  (value, path) =>
    shape(
      (isRecord(value) && Object.hasOwn(fields, String(value['type']))
        ? fields[String(value['type'])]
        : undefined) ?? { type: string },
    )(value, path)

/** Checks only the fields that the object has. */
export const ifPresent = (fields: Fields): Check =>
  shape({}, (given, at) =>
    Object.entries(fields).flatMap(([key, check]) =>
      key in given ? check(given[key], at(key)) : [],
    ),
  )

export const list =
  (check: Check): Check =>
  (value, path) =>
    Array.isArray(value)
      ? value.flatMap((item, index) => check(item, `${path}.${index}`))
      : lacks(path, value, 'is not a list')

export const filledList =
  (check: Check): Check =>
  (value, path) =>
    Array.isArray(value) && value.length === 0 ? [`${path} is empty`] : list(check)(value, path)

/** An object in which every number is a token count. */
export const counts: Check = (value, path) => {
  if (isRecord(value))
    return Object.entries(value).flatMap(([key, member]) => counts(member, `${path}.${key}`))
  return typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0)
    ? [`${path} is ${value}, which is not a count`]
    : []
}

/** Token counts, of which `required` must be present. */
export const usage = (...required: readonly string[]): Check => {
  const present = shape(
    Object.fromEntries(
      required.map((key) => [
        key,
        (value, path) => (typeof value === 'number' ? [] : lacks(path, value, 'is not a count')),
      ]),
    ),
  )
  return (value, path) => [...present(value, path), ...counts(value, path)]
}
