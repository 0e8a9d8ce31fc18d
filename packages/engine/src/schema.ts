/**
 * Checks data of users: options, policies, configuration. A schema says what a value must be, and
 * the type of such values follows from it (`TypeOf`). All problems are collected, with their paths.
 */
import { keyPathText } from '@retake/tape/format'
import { closestName } from './closest-name.js'

export type DataPath = readonly (string | number)[]
export type PlainObject = Readonly<Record<string, unknown>>

export interface DataProblem {
  readonly path: DataPath
  readonly message: string
  /** True if the problem is the last key of the path, not its value. */
  readonly isKey?: boolean
}

export const problemText = ({ path, message }: DataProblem): string =>
  path.length === 0 ? message : `${keyPathText(path)}: ${message}`

/** Reports what is wrong with a value. */
export interface DataSchema<T> {
  (check: DataCheck, path: DataPath, value: unknown): void
  /** Exists only for TypeScript. */
  readonly type?: T
  /** The problem of an object without this field; optional fields have none. */
  readonly missing?: string
}

export type TypeOf<S> = S extends { readonly type?: infer T } ? T : never

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- schemas of any type
export type Fields = Readonly<Record<string, DataSchema<any>>>

type RequiredNames<F> = {
  [Name in keyof F]: F[Name] extends { readonly missing: string } ? Name : never
}[keyof F]

/** The type of objects with these fields. Comments at the fields belong to the type, too. */
export type TypeOfFields<F> = {
  readonly [Name in keyof F as Name extends RequiredNames<F> ? Name : never]: TypeOf<F[Name]>
} & {
  readonly [Name in keyof F as Name extends RequiredNames<F> ? never : Name]?: TypeOf<F[Name]>
}

/** Collects problems in untrusted data. */
export class DataCheck {
  readonly problems: DataProblem[] = []

  /** `shown` describes a wrong value. By default only its kind, because values may be secret. */
  constructor(readonly shown: (value: unknown) => string = kindOf) {}

  add(path: DataPath, message: string): void {
    this.problems.push({ path, message })
  }

  addKey(path: DataPath, message: string): void {
    this.problems.push({ path, message, isKey: true })
  }

  mustBe(path: DataPath, what: string, value: unknown, subject = 'It'): void {
    this.add(path, `${subject} must be ${what}, not ${this.shown(value)}.`)
  }

  object(path: DataPath, value: unknown, subject = 'It'): PlainObject | undefined {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as PlainObject
    this.mustBe(path, 'an object', value, subject)
    return undefined
  }

  list(path: DataPath, value: unknown, subject = 'It'): value is readonly unknown[] {
    if (!Array.isArray(value)) this.mustBe(path, 'a list', value, subject)
    return Array.isArray(value)
  }

  text(path: DataPath, value: unknown, subject = 'It'): value is string {
    if (typeof value !== 'string') this.mustBe(path, 'a string', value, subject)
    else if (value.trim() === '') this.add(path, `${subject} is empty.`)
    else return true
    return false
  }

  number(path: DataPath, value: unknown): value is number {
    if (typeof value === 'number' && !Number.isNaN(value)) return true
    this.mustBe(path, 'a number', value)
    return false
  }
}

/** Accepts values that pass a test. `what` says what they must be. */
export const being =
  <T>(what: string, isRight: (value: unknown) => boolean): DataSchema<T> =>
  (check, path, value) => {
    if (!isRight(value)) check.mustBe(path, what, value)
  }

/** Accepts any value; something else checks it. */
export const anything =
  <T = unknown>(): DataSchema<T> =>
  () => {}

export const required = <T>(
  schema: DataSchema<T>,
  missing: string,
): DataSchema<T> & { readonly missing: string } =>
  Object.assign<DataSchema<T>, { missing: string }>(
    (check, path, value) => schema(check, path, value),
    { missing },
  )

/** A string with something other than blanks. */
export const nonEmptyText =
  (subject = 'It'): DataSchema<string> =>
  (check, path, value) =>
    void check.text(path, value, subject)

export const flag: DataSchema<boolean> = being(
  'true or false',
  (value) => typeof value === 'boolean',
)

export const number: DataSchema<number> = (check, path, value) => void check.number(path, value)

export const atLeast =
  (least: number): DataSchema<number> =>
  (check, path, value) => {
    if (check.number(path, value) && value < least)
      check.add(path, `It must be at least ${least}, not ${value}.`)
  }

export const whole =
  (least: number, most = Infinity): DataSchema<number> =>
  (check, path, value) => {
    if (!check.number(path, value)) return
    if (Number.isInteger(value) && value >= least && value <= most) return
    const range = most === Infinity ? `${least} on` : `${least} to ${most}`
    check.add(path, `It must be a whole number from ${range}, not ${value}.`)
  }

export const oneWord =
  <const Word extends string>(...words: readonly Word[]): DataSchema<Word> =>
  (check, path, value) => {
    if (typeof value === 'string' && (words as readonly string[]).includes(value)) return
    const shown = typeof value === 'string' ? `"${value}"` : kindOf(value)
    check.add(path, `It cannot be ${shown}. ${hintFor(value, words, 'It must be one of')}`)
  }

export const listWith =
  <T>(member: DataSchema<T>, subject = 'It'): DataSchema<readonly T[]> =>
  (check, path, value) => {
    if (check.list(path, value, subject))
      for (const [at, each] of eachOf(path, value)) member(check, at, each)
  }

/** One value, or a list that is not empty. */
export const oneOrMore =
  <T>(member: DataSchema<T>, subject = ''): DataSchema<T | readonly T[]> =>
  (check, path, value) => {
    const members = eachOf(path, value)
    if (members.length === 0)
      check.add(path, subject ? `${subject}: the list is empty.` : 'The list is empty.')
    for (const [at, each] of members) member(check, at, each)
  }

/** An object with any keys and one kind of members. */
export const recordWith =
  <T>(member: DataSchema<T>, subject = 'It'): DataSchema<Readonly<Record<string, T>>> =>
  (check, path, value) => {
    for (const [key, each] of Object.entries(check.object(path, value, subject) ?? {}))
      member(check, [...path, key], each)
  }

/** An object with these fields and no others, which are probably misspelled. */
export const objectOf =
  <F extends Fields>(fields: F, subject = 'It'): DataSchema<TypeOfFields<F>> =>
  (check, path, value) => {
    const given = check.object(path, value, subject)
    if (given === undefined) return
    const known = Object.keys(fields)
    for (const key of Object.keys(given).filter((each) => !known.includes(each)))
      check.addKey([...path, key], `Unknown key "${key}". ${hintFor(key, known, 'Known keys:')}`)
    for (const [key, schema] of Object.entries(fields))
      if (given[key] !== undefined) schema(check, [...path, key], given[key])
      else if (schema.missing !== undefined) check.add(path, schema.missing)
  }

/** The members of a list with their paths. A single value counts as a list of one. */
export const eachOf = (path: DataPath, data: unknown): (readonly [DataPath, unknown])[] =>
  Array.isArray(data)
    ? data.map((each: unknown, index) => [[...path, index], each] as const)
    : [[path, data]]

function hintFor(word: unknown, words: readonly string[], all: string): string {
  const close = typeof word === 'string' ? closestName(word, words) : undefined
  return close === undefined ? `${all} ${words.join(', ')}.` : `Did you mean ${close}?`
}

export function kindOf(data: unknown): string {
  if (data === null) return 'null'
  if (data === undefined) return 'undefined'
  if (Array.isArray(data)) return 'a list'
  if (typeof data === 'string') return 'a string'
  if (Number.isNaN(data)) return 'NaN'
  return typeof data === 'object' ? 'an object' : `a ${typeof data}`
}
