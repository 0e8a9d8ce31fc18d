import { createHmac, hash } from 'node:crypto'
import {
  type BodyForm,
  decodeBody,
  decodeJson,
  encodeBody,
  stableStringify,
  toWire,
} from '@retake/tape/format'
import type { Session } from '@retake/engine/hook'
import { type Denial, guardErrors } from './denials/guard-error.js'
import { parsedText } from './data/argument-path.js'
import type { GuardedToolOptions } from './contract/guarded-tool.js'

/** A call in the form that is checked, recorded, compared and executed. */
export interface CanonicalCall {
  readonly as: BodyForm
  readonly body: Uint8Array
  /** The body as text, so that JSON need not be decoded again. */
  readonly json?: string
  /** Hash of the tool and its arguments; the order of keys does not matter by default. */
  readonly fingerprint: string
}

type KeyOrder = Pick<GuardedToolOptions<never>, 'keyOrderMatters'>

/** A call with those arguments that can be recorded; `denial` is set if some cannot. */
export interface StorableCall {
  readonly call: CanonicalCall
  readonly denial?: Denial
}

/** Larger arguments would block the program for seconds while they are checked. */
const VALUES_MAX = 200_000
const BODY_BYTES_MAX = 16 << 20

/** Copies the arguments, so that later changes have no effect. Never throws. */
export function storableCall(tool: string, args: unknown, options?: KeyOrder): StorableCall {
  let denial: Denial | undefined
  try {
    const onLoss = (path: string, what: string): void => {
      denial ??= guardErrors.GUARD_ARGUMENTS_NOT_RECORDABLE(tool, path, what)
    }
    const call = read(tool, args, onLoss, options)
    if (call.body.length > BODY_BYTES_MAX)
      return refused(tool, guardErrors.GUARD_ARGUMENTS_TOO_LARGE(`${call.body.length} bytes`, tool))
    if (denial === undefined && hasPrototypeKey(call))
      denial = guardErrors.ARGUMENTS_PROTOTYPE(tool)
    return denial === undefined ? { call } : { call, denial }
  } catch (error) {
    // A RangeError also occurs if the JSON exceeds the longest string.
    const isTooLarge = error instanceof RangeError
    const why = isTooLarge
      ? guardErrors.GUARD_ARGUMENTS_TOO_LARGE(`more than ${VALUES_MAX} values`, tool)
      : guardErrors.GUARD_ARGUMENTS_NOT_RECORDABLE(tool, '', 'something unreadable')
    return refused(tool, denial ?? why)
  }
}

/** A `__proto__` key is harmless here, but a tool that assigns it changes a prototype. */
function hasPrototypeKey({ as, body, json }: CanonicalCall): boolean {
  const text = json ?? (as === 'text' ? Buffer.from(body).toString() : '')
  return PROTOTYPE_KEY.test(text) && hasKeyWithin(json === undefined ? text : JSON.parse(json))
}

/** Matches `__proto__`, or JSON escapes of its letters. */
const PROTOTYPE_KEY = /__proto__|\\u00(?:5f|6f|7[024])/i

/** Also searches strings that contain JSON. */
function hasKeyWithin(value: unknown): boolean {
  const found = typeof value === 'string' && PROTOTYPE_KEY.test(value) ? parsedText(value) : value
  return (
    typeof found === 'object' &&
    found !== null &&
    (Object.hasOwn(found, '__proto__') || Object.values(found).some(hasKeyWithin))
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
  // If keys are already in order, the text serves both purposes.
  const isFinal = options?.keyOrderMatters === true || isOrdered(wire)
  const fingerprint = hashOf(tool, isFinal ? text : stableStringify(wire))
  return { as: 'json', body: Buffer.from(text), json: text, fingerprint }
}

export const argumentsOf = ({ as, body, json }: CanonicalCall): unknown =>
  json === undefined ? decodeBody(as, body) : decodeJson(json)

const refused = (tool: string, denial: Denial): StorableCall => ({
  call: read(tool, undefined, () => {}),
  denial,
})

export function fingerprintOf(tool: string, args: unknown, options?: KeyOrder): string {
  const isFinal = options?.keyOrderMatters === true
  return hashOf(tool, (isFinal ? JSON.stringify : stableStringify)(toWire(args)))
}

const hashOf = (tool: string, json: string): string =>
  hash('sha256', `[${JSON.stringify(tool)},${json}]`).slice(0, 32)

/**
 * A call with the fingerprint that its tape uses. In a redacted run, the fingerprint is keyed, so
 * that nobody else can verify a guess about the arguments.
 */
export function identified(call: CanonicalCall, { secrets }: Session): CanonicalCall {
  const { digestKey } = secrets
  if (digestKey === undefined) return call
  const digest = createHmac('sha256', digestKey).update(call.fingerprint).digest('hex')
  return { ...call, fingerprint: digest.slice(0, 32) }
}

/** True if all keys in JSON data are in the order of `stableStringify`. */
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
