import { type BodyForm, decodeBody, encodeBody } from '@retake/tape/format'
import type { Session } from '@retake/engine/hook'
import { type Denial, GuardError, guardErrors } from '../guard-error.js'
import type { GuardedTool } from '../guarded-tool.js'
import { limitErrors } from './limit-errors.js'

const DEEPEST = 500

/** True if a result is certainly larger than `cap` on the tape. Stops as soon as that is known. */
export function isLargerThan(value: unknown, cap: number): boolean {
  let left = cap
  const around: object[] = []
  const isOver = (each: unknown): boolean => {
    if (typeof each === 'string') left -= each.length
    else if (typeof each !== 'object' || each === null) left -= 1
    else measure(each)
    return left < 0
  }
  const measure = (object: object): void => {
    left -= 2
    // Circles and deeper values are not recorded.
    if (around.length >= DEEPEST || around.includes(object)) return
    around.push(object)
    if (ArrayBuffer.isView(object) || object instanceof ArrayBuffer) left -= object.byteLength
    else if (Array.isArray(object) || object instanceof Set || object instanceof Map) {
      for (const item of object as Iterable<unknown>) if (isOver(item)) break
    } else if (isPlain(object)) Object.keys(object).some((key) => isMemberOver(object, key))
    around.pop()
  }
  const isMemberOver = (object: object, key: string): boolean => {
    left -= key.length
    const property = Object.getOwnPropertyDescriptor(object, key)
    // Getters run only once, when the result is encoded.
    return property !== undefined && 'value' in property && isOver(property.value)
  }
  return isOver(value)
}

const isPlain = (value: object): boolean => {
  const proto: unknown = Object.getPrototypeOf(value)
  return proto === null || proto === Object.prototype
}

/**
 * Encodes the result of a tool. Parts that cannot be recorded, such as functions, are omitted and
 * noted. Throws a `GuardError` if the whole result cannot be recorded.
 */
function encodeResult(
  tool: string,
  value: unknown,
  session: Session,
): { as: BodyForm; body: Uint8Array } {
  let what: string | undefined
  try {
    what = notData(value)
    if (what === undefined) return encodeBody(value, { onLoss: noteLoss(tool, session) })
  } catch (error) {
    what = error instanceof RangeError ? 'more than can be stored' : 'something unreadable'
  }
  throw new GuardError(guardErrors.GUARD_RESULT_NOT_RECORDABLE(tool, what))
}

const noteLoss = (tool: string, session: Session) => (path: string, what: string) =>
  session.note({
    kind: 'boundary',
    name: `tool ${tool}`,
    text: `${what} in its result is not stored (at ${path || 'the top'})`,
    consequence: 'replay serves the result without it',
  })

/** Built-in classes whose instances can be recorded. */
const STORABLE =
  /^(Object|Array|Date|RegExp|URL|Map|Set|ArrayBuffer|DataView|Error|DOMException|Boolean|Number|String|\w+Array)$/

function notData(value: unknown): string | undefined {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'symbol' && Symbol.keyFor(value) === undefined) return 'a symbol'
  if (typeof value !== 'object' || value === null) return undefined
  if (Symbol.asyncIterator in value) return 'an asynchronous iterator'
  if ('next' in value && typeof value.next === 'function') return 'an iterator'
  const kind = Object.prototype.toString.call(value).slice(8, -1)
  return STORABLE.test(kind) ? undefined : `a ${kind}`
}

/** A result in its form on the tape, or why there is none. */
export type EncodedOutput =
  | { readonly value: unknown; readonly as: BodyForm; readonly body: Uint8Array }
  | { readonly error: unknown }
  | { readonly stop: Denial }

/** Encodes and measures a result. May run getters of the tool, so call it within its bounds. */
export function encodeOutput(
  tool: GuardedTool,
  value: unknown,
  outputBytes: number,
  session: Session,
): EncodedOutput {
  try {
    if (isLargerThan(value, outputBytes))
      return { stop: limitErrors.LIMIT_OUTPUT_SIZE(tool.name, outputBytes, undefined) }
    const { as, body } = encodeResult(tool.name, value, session)
    const size = body.byteLength
    if (size > outputBytes)
      return { stop: limitErrors.LIMIT_OUTPUT_SIZE(tool.name, outputBytes, size) }
    const own = as === 'bytes' ? new Uint8Array(body) : body
    // Schemas get plain data.
    const isChecked = tool.options.output !== undefined
    return { value: isChecked ? decodeBody(as, own) : value, as, body: own }
  } catch (error) {
    return { error }
  }
}
