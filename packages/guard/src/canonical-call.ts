import { hash } from 'node:crypto'
import {
  decodeBody,
  decodeJson,
  encodeBody,
  stableStringify,
  toWire,
  type BodyForm,
} from '@retake/tape/format'
import { GuardError, type Denial } from './guard-error.js'
import { guardErrors } from './guard-errors.js'
import { parsedText } from './policy/argument-path.js'
import type { GuardedToolOptions } from './guarded-tool.js'

/** A call in the one form that is judged, stored, compared and run. */
export interface CanonicalCall {
  readonly as: BodyForm
  readonly body: Uint8Array
  /** The body as text, where it is JSON and was just written. */
  readonly json?: string
  /** Of tool and arguments, whatever the order of their keys. */
  readonly fingerprint: string
}

/** If it is true, calls that differ only in the order of keys are different calls. */
type KeyOrder = Pick<GuardedToolOptions<never>, 'keyOrderMatters'>

/** A call with as much of its arguments as can be stored, and why it is refused if that is not all. */
export interface StorableCall {
  readonly call: CanonicalCall
  readonly denial?: Denial
}

const VALUES_MAX = 1_000_000
const BODY_BYTES_MAX = 64 << 20

/** Refuses calls whose arguments cannot be stored, because they cannot be compared either. */
export function canonicalCall(tool: string, args: unknown): CanonicalCall {
  const { call, denial } = storableCall(tool, args)
  if (denial !== undefined) throw new GuardError(denial)
  return call
}

/**
 * Reads the arguments once: a getter or a proxy that answers otherwise the next time
 * changes nothing, and neither does who holds them and writes to them later. Never throws.
 */
export function storableCall(tool: string, args: unknown, options?: KeyOrder): StorableCall {
  let denial: Denial | undefined
  try {
    const onLoss = (path: string, what: string): void => {
      denial ??= guardErrors.argumentsNotRecordable(tool, path, what)
    }
    const call = read(tool, args, onLoss, options)
    if (call.body.length > BODY_BYTES_MAX)
      return refused(tool, guardErrors.argumentsTooLarge(`${call.body.length} bytes`, tool))
    if (denial === undefined && hasPrototypeKey(call))
      denial = guardErrors.argumentsWithPrototype(tool)
    return denial === undefined ? { call } : { call, denial }
  } catch (error) {
    // More text than a string can hold is one, too; else, a proxy that refuses to be read.
    const isTooLarge = error instanceof RangeError
    const why = isTooLarge
      ? guardErrors.argumentsTooLarge(`more than ${VALUES_MAX} values`, tool)
      : guardErrors.argumentsNotRecordable(tool, '', 'something unreadable')
    return refused(tool, denial ?? why)
  }
}

/** Such a key is data here, and changes what a tool's object inherits where it is assigned. */
function hasPrototypeKey({ as, body, json }: CanonicalCall): boolean {
  const text = json ?? (as === 'text' ? Buffer.from(body).toString() : '')
  return PROTOTYPE_KEY.test(text) && hasKeyWithin(json === undefined ? text : JSON.parse(json))
}

/** The name `__proto__`, or a text of which JSON may make it. */
const PROTOTYPE_KEY = /__proto__|\\u00(?:5f|6f|7[024])/i

/** Looks into texts that are JSON, too. */
function hasKeyWithin(value: unknown, key = '__proto__'): boolean {
  const found = typeof value === 'string' && PROTOTYPE_KEY.test(value) ? parsedText(value) : value
  return (
    typeof found === 'object' &&
    found !== null &&
    (Object.hasOwn(found, key) || Object.values(found).some((each) => hasKeyWithin(each)))
  )
}

function read(
  tool: string,
  args: unknown,
  onLoss: (path: string, what: string) => void,
  options?: KeyOrder,
): CanonicalCall {
  if (typeof args === 'string' || Buffer.isBuffer(args)) {
    const { as, body } = encodeBody(args)
    const own = new Uint8Array(body)
    return {
      as,
      body: own,
      fingerprint: fingerprintOf(tool, Buffer.isBuffer(args) ? Buffer.from(own) : args),
    }
  }
  const wire = toWire(args, { onLoss, valuesMax: VALUES_MAX })
  const text = JSON.stringify(wire)
  // Data that is in order already need not be serialized a second time.
  const isFinal = options?.keyOrderMatters === true || isOrdered(wire)
  const fingerprint = hashOf(tool, isFinal ? text : stableStringify(wire))
  return { as: 'json', body: Buffer.from(text), json: text, fingerprint }
}

/** A fresh copy of the arguments each time: whoever gets it may do with it what it likes. */
export const argumentsOf = ({ as, body, json }: CanonicalCall): unknown =>
  json === undefined ? decodeBody(as, body) : decodeJson(json)

const refused = (tool: string, denial: Denial): StorableCall => ({
  call: read(tool, undefined, () => {}),
  denial,
})

/** The first 32 hex digits of a sha256. */
export function fingerprintOf(tool: string, args: unknown, options?: KeyOrder): string {
  const isFinal = options?.keyOrderMatters === true
  return hashOf(tool, (isFinal ? JSON.stringify : stableStringify)(toWire(args)))
}

const hashOf = (tool: string, json: string): string =>
  hash('sha256', `[${JSON.stringify(tool)},${json}]`).slice(0, 32)

/** True if the keys of every object are in the order of `stableStringify`. Takes JSON data. */
function isOrdered(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isOrdered)
  let before = ''
  for (const [key, member] of Object.entries(value)) {
    if (key < before || !isOrdered(member)) return false
    before = key
  }
  return true
}
