import { closestName } from '@retake/engine/hook'
import { GuardError, guardErrors } from '../denials/guard-error.js'
import { argumentText } from './argument-path.js'

export type DataPath = readonly (string | number)[]
export type PlainObject = Readonly<Record<string, unknown>>

/** A problem in a policy or in options, with its path. */
export interface PolicyProblem {
  readonly path: DataPath
  readonly message: string
  /** True if the problem is the last key of the path, not its value. */
  readonly isKey?: boolean
}

export const problemText = ({ path, message }: PolicyProblem): string =>
  path.length === 0 ? message : `${argumentText(path)}: ${message}`

/** Allowed values of a field: a list of words, a kind of value, or a function. */
export type FieldRule =
  | 'any'
  | 'text'
  | 'flag'
  | 'function'
  | 'number'
  | 'count'
  | 'positive'
  | readonly string[]
  | ((check: DataCheck, path: DataPath, value: unknown) => void)

export type FieldRules = Readonly<Record<string, FieldRule>>

/** Collects problems in untrusted data. */
export class DataCheck {
  readonly problems: PolicyProblem[] = []

  add(path: DataPath, message: string): void {
    this.problems.push({ path, message })
  }

  throwIfAny(of: string): void {
    if (this.problems.length > 0)
      throw new GuardError(guardErrors.GUARD_OPTIONS_INVALID(of, this.problems.map(problemText)))
  }

  /** Expects an object with only these keys, or with any keys if `keys` is undefined. */
  object(
    path: DataPath,
    data: unknown,
    what: string,
    keys: readonly string[] | undefined,
  ): PlainObject | undefined {
    if (typeof data !== 'object' || data === null || Array.isArray(data)) {
      this.add(path, `${what} must be an object, not ${kindOf(data)}.`)
      return undefined
    }
    const unknown = keys === undefined ? [] : Object.keys(data).filter((key) => !keys.includes(key))
    for (const key of unknown) {
      const message = `Unknown key "${key}". ${hintFor(key, keys ?? [], 'Known keys:')}`
      this.problems.push({ path: [...path, key], message, isKey: true })
    }
    return data as PlainObject
  }

  /** Expects an object whose fields follow these rules. All fields are optional. */
  fields(path: DataPath, data: unknown, what: string, rules: FieldRules): PlainObject | undefined {
    const object = this.object(path, data, what, Object.keys(rules))
    if (object !== undefined)
      for (const [key, rule] of Object.entries(rules))
        if (object[key] !== undefined) this.#field([...path, key], object[key], rule)
    return object
  }

  #field(path: DataPath, value: unknown, rule: FieldRule): void {
    if (typeof rule === 'function') return rule(this, path, value)
    if (rule === 'text') this.text(path, value, 'It')
    else if (rule === 'number') this.number(path, value)
    else if (rule === 'count' || rule === 'positive')
      this.count(path, value, rule === 'count' ? 0 : 1)
    else if (rule === 'flag' && typeof value !== 'boolean')
      this.add(path, `It must be true or false, not ${kindOf(value)}.`)
    else if (rule === 'function' && typeof value !== 'function')
      this.add(path, `It must be a function of the arguments, not ${kindOf(value)}.`)
    else if (typeof rule !== 'string') this.oneOf(path, value, rule)
  }

  list(path: DataPath, data: unknown, what: string): data is readonly unknown[] {
    if (Array.isArray(data)) return true
    this.add(path, `${what} must be a list, not ${kindOf(data)}.`)
    return false
  }

  text(path: DataPath, data: unknown, what: string): data is string {
    if (typeof data !== 'string') this.add(path, `${what} must be a string, not ${kindOf(data)}.`)
    else if (data.trim() === '') this.add(path, `${what} is empty.`)
    else return true
    return false
  }

  /** Expects a string or a list of strings. Passes each to `look`. */
  texts(
    path: DataPath,
    data: unknown,
    what: string,
    look?: (path: DataPath, text: string) => void,
  ): void {
    if (data === undefined) return
    if (Array.isArray(data) && data.length === 0) this.add(path, `${what}: the list is empty.`)
    for (const [at, each] of eachOf(path, data)) if (this.text(at, each, what)) look?.(at, each)
  }

  oneOf(path: DataPath, data: unknown, words: readonly string[]): void {
    if (typeof data === 'string' && words.includes(data)) return
    const shown = typeof data === 'string' ? `"${data}"` : kindOf(data)
    this.add(path, `It cannot be ${shown}. ${hintFor(data, words, 'It must be one of')}`)
  }

  number(path: DataPath, data: unknown): data is number {
    if (typeof data === 'number' && !Number.isNaN(data)) return true
    this.add(path, `It must be a number, not ${kindOf(data)}.`)
    return false
  }

  count(path: DataPath, data: unknown, least = 0): void {
    if (this.number(path, data) && data < least)
      this.add(path, `It must be at least ${least}, not ${data}.`)
  }

  whole(path: DataPath, data: unknown, least: number, most: number): void {
    if (!this.number(path, data)) return
    if (!Number.isInteger(data) || data < least || data > most)
      this.add(path, `It must be a whole number from ${least} to ${most}, not ${data}.`)
  }
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
