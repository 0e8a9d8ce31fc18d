import { type BodyForm, decodeBody, encodeBody } from '@retake/tape/format'
import type { Session } from '@retake/engine/hook'
import { type Denial, GuardError } from '../guard-error.js'
import type { GuardedTool } from '../guarded-tool.js'
import { limitErrors } from './limit-errors.js'
import { guardErrors } from '../guard-errors.js'

const DEEPEST = 500

/** True if a result is certainly larger than `cap` on the tape. Stops as soon as that is known. */
export function isLargerThan(value: unknown, cap: number): boolean {
  return new Measure(cap).isOver(value)
}

class Measure {
  #left: number
  readonly #path: object[] = []

  constructor(cap: number) {
    this.#left = cap
  }

  isOver(value: unknown): boolean {
    if (typeof value === 'string') this.#left -= value.length
    else if (typeof value !== 'object' || value === null) this.#left -= 1
    else this.#measureObject(value)
    return this.#left < 0
  }

  #measureObject(value: object): void {
    this.#left -= 2
    // Circles and deeper values are not recorded.
    if (this.#path.length >= DEEPEST || this.#path.includes(value)) return
    this.#path.push(value)
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) this.#left -= value.byteLength
    else if (Array.isArray(value) || value instanceof Set) this.#measureEach(value)
    else if (value instanceof Map) this.#measureEach(value.entries())
    else if (isPlain(value)) this.#measureMembers(value)
    this.#path.pop()
  }

  #measureEach(items: Iterable<unknown>): void {
    for (const item of items) if (this.isOver(item)) return
  }

  #measureMembers(value: object): void {
    for (const key of Object.keys(value)) {
      this.#left -= key.length
      const property = Object.getOwnPropertyDescriptor(value, key)
      // Getters run only once, when the result is encoded.
      if (property !== undefined && 'value' in property && this.isOver(property.value)) return
    }
  }
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
  throw new GuardError(guardErrors.resultNotRecordable(tool, what))
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
      return { stop: limitErrors.outputSize(tool.name, outputBytes, undefined) }
    const { as, body } = encodeResult(tool.name, value, session)
    const size = body.byteLength
    if (size > outputBytes) return { stop: limitErrors.outputSize(tool.name, outputBytes, size) }
    const own = as === 'bytes' ? new Uint8Array(body) : body
    // Schemas get plain data.
    const isChecked = tool.options.output !== undefined
    return { value: isChecked ? decodeBody(as, own) : value, as, body: own }
  } catch (error) {
    return { error }
  }
}
