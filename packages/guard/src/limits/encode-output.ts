import { type BodyForm, decodeBody, encodeBody } from '@retake/tape/format'
import type { Session } from '@retake/engine/hook'
import { type Denial, GuardError } from '../guard-error.js'
import type { GuardedTool } from '../guarded-tool.js'
import { limitErrors } from './limit-errors.js'
import { isLargerThan } from './output-size.js'
import { guardErrors } from '../guard-errors.js'

/**
 * Encodes the result of a tool for the tape. Parts that have no form there, such as
 * functions, are left out and noted, as with `tool()`; a result that is nothing but
 * such a part, or cannot be read, throws a `GuardError`.
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

/** Classes of Node whose instances have no data to store, unlike those of a program. */
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

/**
 * Measures a result as it goes on the tape, and keeps it from changing any more. It
 * may run code of the tool, such as getters: call it within the tool's bounds.
 */
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
    // Code that checks a result is not the tool's: it gets plain data, no getters of the tool.
    const isChecked = tool.options.output !== undefined
    return { value: isChecked ? decodeBody(as, own) : value, as, body: own }
  } catch (error) {
    return { error }
  }
}
