import type { RecordedError } from '../format/events.js'
import { setOwn } from './stable-stringify.js'

/** Marks a property in `props` that has its own field, to preserve the order of properties. */
export const FIELD = { $: 'field' } as const

const BUILT_IN = {
  Error,
  TypeError,
  RangeError,
  SyntaxError,
  EvalError,
  ReferenceError,
  URIError,
  AggregateError,
}

export const builtInClass = (
  name: string,
): ErrorConstructor | AggregateErrorConstructor | undefined =>
  Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name as keyof typeof BUILT_IN] : undefined

/** True for errors of this and of any other realm. */
export const isErrorLike = (value: unknown): value is Error =>
  value instanceof Error ||
  ['[object Error]', '[object DOMException]'].includes(Object.prototype.toString.call(value))

/** A traversal of a larger value; implemented by `WireEncoder`. */
export interface WireWalk {
  encode(value: unknown): unknown
  /** Encodes a member, and tracks its path. */
  at(key: string | number, value: unknown): unknown
  /** Reads a property; reports a getter that throws as lost. */
  readMember(value: object, key: string): unknown
  /** Reports that something at the current path will not be restored. */
  report(what: string): void
}

export const recordErrorFields = (walk: WireWalk, error: object): RecordedError => {
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
const registeredSymbols = (walk: WireWalk, error: object): Record<string, unknown> | undefined => {
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

export const recordThrown = (walk: WireWalk, thrown: unknown): RecordedError => ({
  class: thrown === null ? 'null' : typeof thrown,
  name: '',
  message: typeof thrown === 'string' ? thrown : '',
  thrown: walk.encode(thrown),
})

/** Undefined if the traversal cut the value off: a cycle, or too deep. */
const recordNested = (walk: WireWalk, key: string, value: unknown): RecordedError | undefined => {
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
