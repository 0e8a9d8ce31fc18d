import { encodeBody, type BodyForm } from '@retake/tape'
import type { Session } from '@retake/engine/hook'
import { GuardError } from './guard-error.js'
import { guardErrors } from './guard-errors.js'

/**
 * What a tool returned, as it goes on the tape. Parts that have no form there, such as
 * functions, are left out and noted, as with `tool()`; a result that is nothing but
 * such a part, or cannot be read, throws a `GuardError`.
 */
export function encodeResult(
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

/** Of an object of a class that a program wrote, its data is kept; these are Node's and have none. */
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
