import { toBase64 } from './bytes.js'
import type { RecordedError } from './recorded-error.js'
import { builtInClass, FIELD } from './from-wire.js'
import { keyPathText } from './key-path-text.js'
import { setOwn } from './stable-stringify.js'

export interface ToWireOptions {
  /** Called for everything that will not be restored, with its path (`a.b[0]`). */
  readonly onLoss?: (path: string, what: string) => void
  /**
   * Throws a `RangeError` for a value that contains more values than this, before they are copied;
   * no limit by default.
   */
  readonly valuesMax?: number
}

/**
 * Encodes any JavaScript value as plain JSON, which `fromWire` reads.
 *
 * A value that JSON cannot express becomes an object with the key `$`, for example
 * `{"$":"bigint","v":"12"}`; an object that has its own `$` key is wrapped in
 * `{"$":"object","v":…}`. Not promised: identity (a value that occurs twice is stored twice), holes
 * in arrays (they become `undefined`), extra properties on arrays. Cycles, functions and prototypes
 * cannot be stored and are reported through `onLoss`.
 */
export const toWire = (value: unknown, options: ToWireOptions = {}): unknown =>
  new WireEncoder(options.onLoss, options.valuesMax).encode(value)

/**
 * Records a thrown value: class name, name, message, stack, own enumerable properties in order,
 * causes and members. A value that is not an error is stored in `thrown`. Not recorded: private
 * state, accessors of the class, and properties beyond a size that no error should have.
 */
export const recordError = (thrown: unknown): RecordedError => {
  const encoder = new WireEncoder()
  return isErrorLike(thrown)
    ? (encoder.encode(thrown) as { v: RecordedError }).v
    : recordThrown(encoder, thrown)
}

const DEPTH_LIMIT = 500
const INSTANCE_LIMIT = 1_000
const ERROR_NODE_LIMIT = 2_000

/** One traversal of a value. Its limits prevent an error that references a socket from filling the tape. */
class WireEncoder {
  readonly #onLoss: ToWireOptions['onLoss']
  /** A list, not a set: few values are deep, and most traversals are short. */
  readonly #ancestors: object[] = []
  readonly #path: (string | number)[] = []
  #instances = 0
  #nodesLeft = Infinity
  #valuesLeft: number

  constructor(onLoss?: ToWireOptions['onLoss'], valuesMax = Infinity) {
    this.#onLoss = onLoss
    this.#valuesLeft = valuesMax
  }

  encode(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : { $: 'number', v: Object.is(value, -0) ? '-0' : String(value) }
      case 'bigint':
        return { $: 'bigint', v: String(value) }
      case 'undefined':
        return { $: 'undefined' }
      case 'symbol': {
        const key = Symbol.keyFor(value)
        return key === undefined ? this.#lose(String(value)) : { $: 'symbol', v: key }
      }
      case 'function':
        return this.#lose(`function ${value.name || '(anonymous)'}`)
      case 'object':
        return value === null ? null : this.#object(value)
    }
  }

  at(key: string | number, value: unknown): unknown {
    this.#path.push(key)
    const wire = this.encode(value)
    this.#path.pop()
    return wire
  }

  report(what: string): void {
    this.#onLoss?.(keyPathText(this.#path), what)
  }

  #lose(what: string): unknown {
    this.report(what)
    return { $: 'undefined' }
  }

  #object(value: object): unknown {
    if (this.#ancestors.includes(value)) return this.#lose('a cycle')
    if (this.#ancestors.length >= DEPTH_LIMIT) return this.#lose(`more than ${DEPTH_LIMIT} levels`)
    if (this.#nodesLeft-- <= 0) return this.#lose('more data than an error may carry')
    this.#ancestors.push(value)
    try {
      return this.#container(value)
    } finally {
      this.#ancestors.pop()
    }
  }

  #container(value: object): unknown {
    if (Array.isArray(value)) {
      if (!isIntrinsic(Object.getPrototypeOf(value), Array)) this.#reportClass(value)
      this.#count(value.length)
      return Array.from(value as unknown[], (item, index) => this.at(index, item))
    }
    const proto: unknown = Object.getPrototypeOf(value)
    if (isIntrinsic(proto, Object)) return this.#plain(value)
    if (proto === null) return { $: 'null-prototype', v: this.#members(value) }
    if (isErrorLike(value)) {
      const before = this.#nodesLeft
      this.#nodesLeft = Math.min(before, ERROR_NODE_LIMIT)
      const recorded = recordErrorFields(this, value)
      this.#nodesLeft = before
      return { $: 'Error', v: recorded }
    }
    if (isA(value, Map) || isA(value, Set)) this.#count(value.size)
    const builtIn = encodeBuiltIn(value, this)
    if (builtIn !== undefined) return builtIn
    // An instance of a class keeps its data and loses its class.
    this.#reportClass(value)
    return ++this.#instances > INSTANCE_LIMIT ? { $: 'undefined' } : this.#plain(value)
  }

  /** An array with four billion holes takes few bytes but contains many values. */
  #count(values: number): void {
    this.#valuesLeft -= values
    if (this.#valuesLeft < 0) throw new RangeError('too many values')
  }

  #plain(value: object): unknown {
    const members = this.#members(value)
    return Object.hasOwn(members, '$') ? { $: 'object', v: members } : members
  }

  #members(value: object): Record<string, unknown> {
    const wire: Record<string, unknown> = {}
    const keys = Object.keys(value)
    this.#count(keys.length)
    for (const key of keys) {
      const member = this.readMember(value, key)
      if (typeof member === 'function') this.at(key, member)
      else setOwn(wire, key, this.at(key, member))
    }
    if (this.#onLoss !== undefined) {
      for (const key of Object.getOwnPropertySymbols(value)) this.report(`property ${String(key)}`)
    }
    return wire
  }

  readMember(value: object, key: string): unknown {
    try {
      return (value as Record<string, unknown>)[key]
    } catch {
      this.report(`getter ${key}`)
      return undefined
    }
  }

  #reportClass(value: object): void {
    const { name } = (value as { constructor?: { name?: unknown } }).constructor ?? {}
    this.report(`class ${typeof name === 'string' && name !== '' ? name : '(anonymous)'}`)
  }
}

/**
 * True for the prototype of `Object` or `Array`, of this realm or another one: Jest runs each test
 * file in its own realm.
 */
const isIntrinsic = (proto: unknown, maker: ObjectConstructor | ArrayConstructor): boolean =>
  proto === maker.prototype ||
  (makerName(proto) === maker.name &&
    (maker === Array ? Array.isArray(proto) : Object.getPrototypeOf(proto) === null))

/** True for instances of this or any other realm. */
const isA = <T extends object>(
  value: object,
  maker: abstract new (...args: never[]) => T,
): value is T =>
  value instanceof maker ||
  (Object.prototype.toString.call(value) === `[object ${maker.name}]` &&
    descendsFrom(value, maker.name))

const descendsFrom = (value: object, name: string): boolean => {
  const proto: unknown = Object.getPrototypeOf(value)
  if (typeof proto !== 'object' || proto === null) return false
  return makerName(proto) === name || descendsFrom(proto, name)
}

const makerName = (proto: unknown): unknown =>
  (proto as { constructor?: { name?: unknown } } | null)?.constructor?.name

/** Encodes built-in classes that are restored with their type; `undefined` for any other. */
const encodeBuiltIn = (value: object, encoder: WireEncoder): unknown => {
  if (isA(value, Date)) {
    const time = value.getTime()
    return { $: 'Date', v: Number.isNaN(time) ? null : time }
  }
  if (isA(value, RegExp)) {
    return { $: 'RegExp', v: [value.source, value.flags, value.lastIndex] }
  }
  if (typeof URL === 'function' && value instanceof URL) return { $: 'URL', v: value.href }
  if (isA(value, Map)) {
    return {
      $: 'Map',
      v: Array.from(value, (pair, at) => encoder.at(at, pair)),
    }
  }
  if (isA(value, Set)) {
    return { $: 'Set', v: Array.from(value, (item, at) => encoder.at(at, item)) }
  }
  if (isA(value, ArrayBuffer)) return { $: 'ArrayBuffer', v: toBase64(new Uint8Array(value)) }
  if (ArrayBuffer.isView(value)) {
    const name =
      typeof Buffer === 'function' && Buffer.isBuffer(value)
        ? 'Buffer'
        : Object.prototype.toString.call(value).slice(8, -1)
    // Reading the buffer of an empty view creates one, which SQLite treats as null.
    const isEmpty = value.byteLength === 0
    const v = isEmpty
      ? ''
      : toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    return { $: name, v }
  }
  return undefined
}

/** True for errors of this or any other realm. */
const isErrorLike = (value: unknown): value is Error =>
  value instanceof Error ||
  ['[object Error]', '[object DOMException]'].includes(Object.prototype.toString.call(value))

const recordErrorFields = (walk: WireEncoder, error: object): RecordedError => {
  const read = (key: string): unknown => walk.readMember(error, key)
  const keys = Object.keys(error).filter((key) => key !== 'stack')
  const { name, message, stack, code, errors } = {
    name: read('name'),
    message: read('message'),
    stack: read('stack'),
    code: read('code'),
    errors: read('errors'),
  }
  const [className, ancestor] = classNamesOf(error)
  const fields: Omit<Mutable<RecordedError>, 'props'> = {
    class: className,
    ...(ancestor === 'Error' || ancestor === className ? {} : { base: ancestor }),
    name: typeof name === 'string' ? name : '',
    message: typeof message === 'string' ? message : '',
  }
  if (typeof stack === 'string') fields.stack = stack
  const text = unusualText(error)
  if (text !== undefined) fields.text = text
  if (typeof code === 'string' || typeof code === 'number') fields.code = code
  const cause = Object.hasOwn(error, 'cause')
    ? recordNested(walk, 'cause', read('cause'))
    : undefined
  if (cause !== undefined) fields.cause = cause
  if (Array.isArray(errors)) {
    fields.errors = errors
      .map((member) => recordNested(walk, 'errors', member))
      .filter((member) => member !== undefined)
  }
  const props: Record<string, unknown> = {}
  for (const key of keys) {
    const value = read(key)
    if (typeof value === 'function') walk.report(`function ${key}`)
    else if (isInField(fields, key, value)) setOwn(props, key, FIELD)
    else setOwn(props, key, walk.at(key, value))
  }
  const symbols = registeredSymbols(walk, error)
  if (symbols !== undefined) fields.symbols = symbols
  return keys.length === 0 ? fields : { ...fields, props }
}

/** Node's fetch marks its errors with registered symbols, which `util.inspect` prints. */
const registeredSymbols = (
  walk: WireEncoder,
  error: object,
): Record<string, unknown> | undefined => {
  const found: Record<string, unknown> = {}
  for (const symbol of Object.getOwnPropertySymbols(error)) {
    const key = Symbol.keyFor(symbol)
    const property = Object.getOwnPropertyDescriptor(error, symbol)
    if (key === undefined || property?.enumerable !== true || !('value' in property)) continue
    setOwn(found, key, walk.at(key, property.value))
  }
  return Object.keys(found).length === 0 ? undefined : found
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const isInField = (fields: Omit<RecordedError, 'props'>, key: string, value: unknown): boolean =>
  key === 'cause' || key === 'errors'
    ? fields[key] !== undefined
    : (key === 'name' || key === 'message' || key === 'code') && fields[key] === value

const recordThrown = (walk: WireEncoder, thrown: unknown): RecordedError => ({
  class: thrown === null ? 'null' : typeof thrown,
  name: '',
  message: typeof thrown === 'string' ? thrown : '',
  thrown: walk.encode(thrown),
})

/** Undefined if the traversal cut the value off: a cycle, or too deep. */
const recordNested = (
  walk: WireEncoder,
  key: string,
  value: unknown,
): RecordedError | undefined => {
  if (!isErrorLike(value)) return recordThrown(walk, value)
  const wire = walk.at(key, value) as { $: string; v: RecordedError }
  return wire.$ === 'Error' ? wire.v : undefined
}

/** Node's own errors have a `toString` that names their code. */
const unusualText = (error: object): string | undefined => {
  try {
    const text = (error as Error).toString()
    return text === Error.prototype.toString.call(error) ? undefined : text
  } catch {
    return undefined
  }
}

/** The nearest named constructor, as `util.inspect` selects it, and the nearest built-in one. */
const classNamesOf = (error: object): readonly [name: string, builtIn: string] => {
  let nearest: string | undefined
  let proto: unknown = Object.getPrototypeOf(error)
  while (typeof proto === 'object' && proto !== null) {
    const maker: unknown = Object.getOwnPropertyDescriptor(proto, 'constructor')?.value
    if (typeof maker === 'function' && maker.name !== '') {
      nearest ??= maker.name
      if (builtInClass(maker.name) !== undefined) return [nearest, maker.name]
    }
    proto = Object.getPrototypeOf(proto)
  }
  return [nearest ?? 'Error', 'Error']
}
