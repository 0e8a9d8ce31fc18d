import { types } from 'node:util'
import { clipText } from '@retake/tape/format'
import { DESCRIBED_WORDS } from '@retake/tape/present'

/** A described value on one line, at most `most` characters long. */
export function printDescribed(json: unknown, most = 200): string {
  return clipText(print(json, most), most)
}

const NAME = /^[A-Za-z_$][\w$]*$/

/** `room`: remaining characters; more would not be shown. */
function print(json: unknown, room: number): string {
  if (typeof json === 'string') return quoted(json)
  if (typeof json !== 'object' || json === null) return String(json)
  if (Array.isArray(json)) return json.length === 0 ? '[]' : `[${parts(json.map(bare), room)}]`
  const { $type, ...rest } = json as { $type?: string } & Record<string, unknown>
  if ($type === undefined) return fields(rest, room)
  return DESCRIBED_WORDS[$type]?.(rest) ?? instance($type, rest, room)
}

type Part = (room: number) => string
const bare =
  (item: unknown): Part =>
  (room) =>
    print(item, room)

function parts(all: readonly Part[], room: number): string {
  let text = ''
  for (const part of all) {
    if (text.length > room) return `${text}, …`
    text += (text === '' ? '' : ', ') + part(room - text.length)
  }
  return text
}

function fields(tree: Readonly<Record<string, unknown>>, room: number): string {
  const entries = Object.entries(tree)
  if (entries.length === 0) return '{}'
  const all = entries.map(([name, item]): Part => {
    if (name === '…') return bare(item)
    return (left) => `${NAME.test(name) ? name : quoted(name)}: ${print(item, left)}`
  })
  return `{ ${parts(all, room)} }`
}

function instance(type: string, rest: Readonly<Record<string, unknown>>, room: number): string {
  if (Array.isArray(rest['entries'])) {
    const pairs = rest['entries'].map(
      (pair: unknown): Part =>
        (left) =>
          Array.isArray(pair)
            ? `${print(pair[0], left)} => ${print(pair[1], left)}`
            : print(pair, left),
    )
    return pairs.length === 0 ? `${type} {}` : `${type} { ${parts(pairs, room)} }`
  }
  if (Array.isArray(rest['values'])) {
    const values = rest['values'].map(bare)
    return values.length === 0 ? `${type} {}` : `${type} { ${parts(values, room)} }`
  }
  if (typeof rest['hex'] === 'string') return `${type}(${String(rest['bytes'])}) ${rest['hex']}`
  return `${type} ${fields(rest, room)}`
}

const quoted = (text: string): string =>
  text.includes("'") && !text.includes('"')
    ? JSON.stringify(text)
    : `'${JSON.stringify(text)
        .slice(1, -1)
        .replaceAll(String.raw`\"`, '"')
        .replaceAll("'", String.raw`\'`)}'`

export interface DescribeLimits {
  readonly depth: number
  /** Maximum number of entries of one object, array, map or set. */
  readonly items: number
  readonly characters: number
  /** Maximum total number of values. */
  readonly values: number
}

/**
 * A value as JSON. Values that JSON cannot express are objects with `$type`: undefined, functions,
 * dates, maps, errors, instances of classes, and values cut by a limit.
 */
export interface Described {
  /** `string`, `undefined`, `array`, `Map`, or a class name; `object` for plain objects. */
  readonly type: string
  readonly json: unknown
  /** True if a limit left something out. */
  readonly cut: boolean
}

/** A variable whose declaration has not run yet. */
export const UNAVAILABLE: Described = {
  type: 'unavailable',
  json: { $type: 'unavailable' },
  cut: false,
}

// Captured, because the agent may replace them later.
const { getOwnPropertyDescriptor, getPrototypeOf, keys } = Object
const { apply } = Reflect
const { isArray } = Array
const method = (prototype: object, name: string) =>
  getOwnPropertyDescriptor(prototype, name)?.value as (...args: never) => unknown
const dateText = method(Date.prototype, 'toISOString')
const dateTime = method(Date.prototype, 'getTime')
const mapForEach = method(Map.prototype, 'forEach')
const setForEach = method(Set.prototype, 'forEach')

/** Describes a value without running agent code: does not call getters, enter proxies or use `toJSON`. */
export function describeValue(value: unknown, limits: DescribeLimits): Described {
  const describer = new Describer(limits)
  const json = describer.tree(value, limits.depth)
  return { type: typeOf(value), json, cut: describer.cut }
}

class Describer {
  cut = false
  readonly #ancestors: object[] = []
  #values = 0

  constructor(readonly limits: DescribeLimits) {}

  tree(value: unknown, depth: number): unknown {
    this.#values += 1
    switch (typeof value) {
      case 'string': {
        const { characters } = this.limits
        if (value.length <= characters) return value
        this.cut = true
        return `${value.slice(0, characters)}… (${value.length} characters)`
      }
      case 'boolean':
        return value
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : { $type: 'number', value: Object.is(value, -0) ? '-0' : String(value) }
      case 'undefined':
        return { $type: 'undefined' }
      case 'bigint':
      case 'symbol':
        return { $type: typeof value, value: String(value) }
      case 'function':
        return { $type: 'function', name: dataOf(value, 'name') ?? '' }
      case 'object':
        return value === null ? null : this.#object(value, depth)
    }
  }

  #object(value: object, depth: number): unknown {
    if (this.#ancestors.includes(value)) return { $type: 'circular' }
    if (types.isProxy(value)) return { $type: 'Proxy' }
    const type = typeOf(value)
    if (types.isDate(value)) {
      const isValid = !Number.isNaN(apply(dateTime, value, []))
      return { $type: 'Date', value: isValid ? String(apply(dateText, value, [])) : 'invalid' }
    }
    if (types.isRegExp(value)) return { $type: 'RegExp', value: `/${value.source}/${value.flags}` }
    if (types.isPromise(value)) return { $type: 'Promise' }
    if (depth <= 0 || this.#values > this.limits.values) {
      this.cut = true
      return { $type: 'cut', of: type }
    }
    this.#ancestors.push(value)
    const tree = this.#container(value, type, depth - 1)
    this.#ancestors.pop()
    return tree
  }

  #container(value: object, type: string, depth: number): unknown {
    if (isArray(value)) return this.#list(value, depth)
    if (types.isMap(value)) {
      const entries: unknown[] = []
      apply(mapForEach, value, [(item: unknown, key: unknown) => entries.push([key, item])])
      return { $type: type, entries: this.#list(entries, depth + 1) }
    }
    if (types.isSet(value)) {
      const values: unknown[] = []
      apply(setForEach, value, [(item: unknown) => values.push(item)])
      return { $type: type, values: this.#list(values, depth) }
    }
    if (types.isUint8Array(value)) {
      const shown = value.subarray(0, this.limits.items)
      if (shown.length < value.length) this.cut = true
      return { $type: type, bytes: value.length, hex: Buffer.from(shown).toString('hex') }
    }
    return this.#fields(value, type, depth)
  }

  #list(list: readonly unknown[], depth: number): unknown[] {
    const { items } = this.limits
    const shown = list.slice(0, items).map((item) => this.tree(item, depth))
    if (list.length > items) {
      this.cut = true
      shown.push({ $type: 'cut', of: `${list.length - items} more` })
    }
    return shown
  }

  #fields(value: object, type: string, depth: number): Record<string, unknown> {
    const tree: Record<string, unknown> = type === 'object' ? {} : { $type: type }
    const put = (name: string, item: unknown): void => {
      // Not an assignment, because the name may be `__proto__`.
      Object.defineProperty(tree, name, { value: item, enumerable: true, configurable: true })
    }
    if (types.isNativeError(value)) put('message', this.tree(dataOf(value, 'message'), depth))
    const names = keys(value)
    for (const name of names.slice(0, this.limits.items)) {
      const found = getOwnPropertyDescriptor(value, name)
      if (found === undefined) continue
      put(name, 'value' in found ? this.tree(found.value, depth) : { $type: 'getter' })
    }
    if (names.length > this.limits.items) {
      this.cut = true
      put('…', { $type: 'cut', of: `${names.length - this.limits.items} more` })
    }
    return tree
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value !== 'object') return typeof value
  if (types.isProxy(value)) return 'Proxy'
  if (isArray(value)) return 'array'
  const name = className(value)
  return name === 'Object' ? 'object' : name
}

/** The name of the class, looked up without running a getter. */
function className(value: object): string {
  let prototype: unknown = getPrototypeOf(value)
  for (let depth = 0; depth < 20; depth++) {
    if (typeof prototype !== 'object' || prototype === null || types.isProxy(prototype)) break
    const name = dataOf(dataOf(prototype, 'constructor'), 'name')
    if (typeof name === 'string' && name !== '') return name
    prototype = getPrototypeOf(prototype)
  }
  return 'object'
}

/** An own property that is plain data. */
function dataOf(owner: unknown, name: string): unknown {
  if ((typeof owner !== 'object' && typeof owner !== 'function') || owner === null) return undefined
  if (types.isProxy(owner)) return undefined
  return getOwnPropertyDescriptor(owner, name)?.value as unknown
}
