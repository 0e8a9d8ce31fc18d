import { fromBase64 } from './bytes.js'
import type { RecordedError } from './recorded-error.js'
import { VALUE_DEPTH_MAX } from './json-shape.js'
import { setOwn } from './stable-stringify.js'

/** Views over bytes that are restored with their type. */
const VIEW_NAMES = [
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float16Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
  'DataView',
] as const

/**
 * Restores a value from `toWire`. Throws a `TypeError` for an unknown tag, and a `RangeError` for a
 * value that is nested more deeply than others can walk through.
 */
export const fromWire = (wire: unknown): unknown => restore(wire, 0)

/** Has no callbacks, because each level of a value would need several frames of the stack. */
function restore(wire: unknown, level: number): unknown {
  if (typeof wire !== 'object' || wire === null) return wire
  if (level > VALUE_DEPTH_MAX) throw new RangeError('the value is nested too deeply')
  if (Array.isArray(wire)) {
    const items: unknown[] = []
    for (const item of wire as readonly unknown[]) items.push(restore(item, level + 1))
    return items
  }
  if (!Object.hasOwn(wire, '$')) return restoreMembers(wire, {}, level)
  const { $: tag, v } = wire as { $: unknown; v?: unknown }
  switch (tag) {
    case 'undefined':
      return undefined
    case 'number':
      return Number(v)
    case 'bigint':
      return BigInt(v as string)
    case 'symbol':
      return Symbol.for(v as string)
    case 'object':
      return restoreMembers(v as object, {}, level)
    case 'null-prototype':
      return restoreMembers(v as object, Object.create(null) as object, level)
    case 'Error':
      return rebuild(v as RecordedError, {}, level)
    case 'Map':
      return new Map(restore(v, level) as [unknown, unknown][])
    case 'Set':
      return new Set(restore(v, level) as unknown[])
    default:
      return restoreBuiltIn(String(tag), v)
  }
}

function restoreMembers(members: object, target: object, level: number): object {
  for (const [key, value] of Object.entries(members)) setOwn(target, key, restore(value, level + 1))
  return target
}

const restoreBuiltIn = (tag: string, v: unknown): unknown => {
  switch (tag) {
    case 'Date':
      return new Date(v === null ? Number.NaN : (v as number))
    case 'RegExp': {
      const [source, flags, lastIndex] = v as [string, string, number]
      const pattern = new RegExp(source, flags)
      pattern.lastIndex = lastIndex
      return pattern
    }
    case 'URL':
      return new URL(v as string)
    case 'ArrayBuffer':
      return fromBase64(v as string).buffer
    case 'Buffer':
      return asBuffer(fromBase64(v as string))
  }
  if ((VIEW_NAMES as readonly string[]).includes(tag)) {
    const { [tag]: View } = globalThis as unknown as Record<string, new (b: ArrayBuffer) => object>
    if (View !== undefined) return new View(fromBase64(v as string).buffer)
  }
  throw new TypeError(
    `unknown wire tag ${JSON.stringify(tag)}: the tape may come from a newer Retake`,
  )
}

/** A Buffer over the same memory, if Buffers exist. */
export const asBuffer = (bytes: Uint8Array<ArrayBuffer>): Uint8Array =>
  typeof Buffer === 'function'
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : bytes

/** An error class; Retake never runs its constructor. */
export type ErrorClass = new (...args: never[]) => Error

export type ErrorClasses = Readonly<Record<string, ErrorClass>>

/**
 * Rebuilds a recorded error, or returns the thrown value if it was not an error. Built-in classes
 * are the real ones; `classes` supplies others by name, without running their constructors; any
 * other name gets a new class.
 */
export const rebuildError = (recorded: RecordedError, classes: ErrorClasses = {}): unknown =>
  rebuild(recorded, classes, 0)

function rebuild(recorded: RecordedError, classes: ErrorClasses, level: number): unknown {
  if (recorded.thrown !== undefined) return restore(recorded.thrown, level + 1)
  if (level > VALUE_DEPTH_MAX) throw new RangeError('the value is nested too deeply')
  const nested = (inner: RecordedError): unknown => rebuild(inner, classes, level + 1)
  const error = construct(recorded, classes)
  const fields: Record<string, unknown> = { name: recorded.name, message: recorded.message }
  define(error, 'stack', recorded.stack, false)
  if (recorded.code !== undefined) fields['code'] = recorded.code
  if (recorded.cause !== undefined) fields['cause'] = nested(recorded.cause)
  if (recorded.errors !== undefined) fields['errors'] = recorded.errors.map(nested)
  for (const [key, value] of Object.entries(recorded.props ?? {})) {
    const isField = (value as { $?: unknown } | null)?.$ === FIELD.$
    define(error, key, isField ? fields[key] : restore(value, level + 1), true)
    delete fields[key]
  }
  for (const [key, value] of Object.entries(recorded.symbols ?? {}))
    define(error, Symbol.for(key), restore(value, level + 1), true)
  const current = error as unknown as Record<string, unknown>
  for (const [key, value] of Object.entries(fields)) {
    if (key === 'cause' || key === 'errors' || current[key] !== value)
      define(error, key, value, false)
  }
  if (recorded.text !== undefined) {
    const { text } = recorded
    define(error, 'toString', () => text, false)
  }
  return error
}

const construct = (recorded: RecordedError, classes: ErrorClasses): Error => {
  const { class: className, name, message } = recorded
  const supplied = Object.hasOwn(classes, className) ? classes[className] : undefined
  if (
    supplied === undefined &&
    className === 'DOMException' &&
    typeof DOMException === 'function'
  ) {
    return new DOMException(message, name)
  }
  const base = builtInClass(recorded.base ?? className) ?? Error
  const Class = supplied ?? (base.name === className ? base : namedClass(className, base))
  const args = base === AggregateError ? [[], message] : [message]
  return Reflect.construct(base, message === '' ? [] : args, Class) as Error
}

const madeClasses = new Map<string, ErrorClass>()
const MADE_LIMIT = 1_000

/** One class per name, shared by all errors of a class that is not available. */
const namedClass = (name: string, base: ErrorClass): ErrorClass => {
  const key = `${base.name}/${name}`
  const known = madeClasses.get(key)
  if (known !== undefined) return known
  const made = { [name]: class extends base {} }[name] as ErrorClass
  if (madeClasses.size < MADE_LIMIT) madeClasses.set(key, made)
  return made
}

const define = (error: Error, key: PropertyKey, value: unknown, enumerable: boolean): void => {
  Object.defineProperty(error, key, { value, writable: true, enumerable, configurable: true })
}

/**
 * Marks the position in `props` of a property that has its own field, to preserve the order of
 * properties.
 */
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
