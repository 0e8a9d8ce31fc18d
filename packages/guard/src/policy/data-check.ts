import { closestName } from '@retake/engine/hook'
import type { PolicyProblem } from './check-policy.js'

type Path = readonly (string | number)[]
export type PlainObject = Readonly<Record<string, unknown>>

/** Collects what is wrong with data of no known form. Each check tells whether it can be used. */
export class DataCheck {
  readonly problems: PolicyProblem[] = []

  add(path: Path, message: string): void {
    this.problems.push({ path, message })
  }

  /** An object with no other keys than these; any keys when there are none. */
  object(
    path: Path,
    data: unknown,
    what: string,
    keys: readonly string[] | undefined,
  ): PlainObject | undefined {
    if (typeof data !== 'object' || data === null || Array.isArray(data)) {
      this.add(path, `${what} is an object, not ${kindOf(data)}.`)
      return undefined
    }
    const object = data as PlainObject
    if (keys !== undefined)
      for (const key of Object.keys(object)) this.#known([...path, key], key, keys)
    return object
  }

  #known(path: Path, key: string, keys: readonly string[]): void {
    if (keys.includes(key)) return
    const close = closestName(key, keys)
    const hint = close === undefined ? `They are ${keys.join(', ')}.` : `Did you mean ${close}?`
    this.problems.push({ path, message: `There is no key "${key}". ${hint}`, isKey: true })
  }

  list(path: Path, data: unknown, what: string): data is readonly unknown[] {
    if (Array.isArray(data)) return true
    this.add(path, `${what} is a list, not ${kindOf(data)}.`)
    return false
  }

  text(path: Path, data: unknown, what: string): data is string {
    if (typeof data !== 'string') this.add(path, `${what} is a text, not ${kindOf(data)}.`)
    else if (data.trim() === '') this.add(path, `${what} is empty.`)
    else return true
    return false
  }

  /** One text or a list of them, each handed to `look`. */
  texts(
    path: Path,
    data: unknown,
    what: string,
    look?: (path: Path, text: string) => void,
  ): data is string | readonly string[] {
    const before = this.problems.length
    if (typeof data === 'string' || !Array.isArray(data)) {
      if (data !== undefined && this.text(path, data, what)) look?.(path, data)
    } else {
      if (data.length === 0) this.add(path, `${what}: the list is empty.`)
      for (const [index, each] of data.entries())
        if (this.text([...path, index], each, what)) look?.([...path, index], each)
    }
    return this.problems.length === before
  }

  oneOf(path: Path, data: unknown, words: readonly string[]): void {
    if (typeof data === 'string' && words.includes(data)) return
    const close = typeof data === 'string' ? closestName(data, words) : undefined
    const hint =
      close === undefined ? `It is one of ${words.join(', ')}.` : `Did you mean ${close}?`
    const shown = typeof data === 'string' ? `"${data}"` : kindOf(data)
    this.add(path, `It cannot be ${shown}. ${hint}`)
  }

  number(path: Path, data: unknown): data is number {
    if (typeof data === 'number' && !Number.isNaN(data)) return true
    this.add(path, `It is a number, not ${kindOf(data)}.`)
    return false
  }

  /** A number from 0. */
  count(path: Path, data: unknown, least = 0): void {
    if (this.number(path, data) && data < least)
      this.add(path, `It is at least ${least}, not ${data}.`)
  }

  whole(path: Path, data: unknown, least: number, most: number): void {
    if (!this.number(path, data)) return
    if (!Number.isInteger(data) || data < least || data > most)
      this.add(path, `It is a whole number from ${least} to ${most}, not ${data}.`)
  }
}

export function kindOf(data: unknown): string {
  if (data === null) return 'nothing'
  if (data === undefined) return 'missing'
  if (Array.isArray(data)) return 'a list'
  if (typeof data === 'string') return 'a text'
  if (Number.isNaN(data)) return 'NaN'
  return typeof data === 'object' ? 'an object' : `a ${typeof data}`
}
