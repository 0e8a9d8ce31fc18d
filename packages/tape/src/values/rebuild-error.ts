import type { RecordedError } from '../format/events.js'
import { builtInClass, FIELD } from './error-fields.js'

/** An error class; Retake never runs its constructor. */
export type ErrorClass = new (...args: never[]) => Error

export type ErrorClasses = Readonly<Record<string, ErrorClass>>

/** Rebuilds a recorded error; `restore` decodes the wire values in it. See `rebuildError`. */
export const rebuildErrorWith = (
  restore: (wire: unknown) => unknown,
  recorded: RecordedError,
  classes: ErrorClasses = {},
): unknown => {
  if (recorded.thrown !== undefined) return restore(recorded.thrown)
  const nested = (inner: RecordedError): unknown => rebuildErrorWith(restore, inner, classes)
  const error = construct(recorded, classes)
  const fields: Record<string, unknown> = { name: recorded.name, message: recorded.message }
  hide(error, 'stack', recorded.stack)
  if (recorded.code !== undefined) fields['code'] = recorded.code
  if (recorded.cause !== undefined) fields['cause'] = nested(recorded.cause)
  if (recorded.errors !== undefined) fields['errors'] = recorded.errors.map(nested)
  for (const [key, value] of Object.entries(recorded.props ?? {})) {
    const restored = isField(value) ? fields[key] : restore(value)
    Object.defineProperty(error, key, {
      value: restored,
      writable: true,
      enumerable: true,
      configurable: true,
    })
    delete fields[key]
  }
  for (const [key, value] of Object.entries(recorded.symbols ?? {})) {
    Object.defineProperty(error, Symbol.for(key), {
      value: restore(value),
      writable: true,
      enumerable: true,
      configurable: true,
    })
  }
  const current = error as unknown as Record<string, unknown>
  for (const [key, value] of Object.entries(fields)) {
    if (key === 'cause' || key === 'errors' || current[key] !== value) hide(error, key, value)
  }
  if (recorded.text !== undefined) {
    const { text } = recorded
    hide(error, 'toString', () => text)
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

const isField = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (value as { $?: unknown }).$ === FIELD.$

const hide = (error: Error, key: string, value: unknown): void => {
  Object.defineProperty(error, key, {
    value,
    writable: true,
    enumerable: false,
    configurable: true,
  })
}
