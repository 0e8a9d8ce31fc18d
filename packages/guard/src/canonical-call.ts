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
import { type Denial, guardErrors } from './guard-error.js'
import { parsedText } from './policy/argument-path.js'
import type { GuardedToolOptions } from './guarded-tool.js'

/** A call in the form that is checked, recorded, compared and executed. */
export interface CanonicalCall {
  readonly as: BodyForm
  readonly body: Uint8Array
  /** The body as text, if it is JSON and was just encoded. */
  readonly json?: string
  /** Hash of tool and arguments, regardless of the order of keys. */
  readonly fingerprint: string
}

type KeyOrder = Pick<GuardedToolOptions<never>, 'keyOrderMatters'>

/** A call with the recordable part of its arguments, and the denial if that is not all. */
export interface StorableCall {
  readonly call: CanonicalCall
  readonly denial?: Denial
}

const VALUES_MAX = 1_000_000
const BODY_BYTES_MAX = 64 << 20

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
    // A RangeError also means more text than fits into a string.
    const isTooLarge = error instanceof RangeError
    const why = isTooLarge
      ? guardErrors.GUARD_ARGUMENTS_TOO_LARGE(`more than ${VALUES_MAX} values`, tool)
      : guardErrors.GUARD_ARGUMENTS_NOT_RECORDABLE(tool, '', 'something unreadable')
    return refused(tool, denial ?? why)
  }
}

/** Such a key is data here, but changes the prototype if a tool assigns it. */
function hasPrototypeKey({ as, body, json }: CanonicalCall): boolean {
  const text = json ?? (as === 'text' ? Buffer.from(body).toString() : '')
  return PROTOTYPE_KEY.test(text) && hasKeyWithin(json === undefined ? text : JSON.parse(json))
}

/** The name `__proto__`, also with escapes of JSON. */
const PROTOTYPE_KEY = /__proto__|\\u00(?:5f|6f|7[024])/i

/** Also looks into texts that are JSON. */
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
  // Sorted data need not be serialized a second time.
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

/** The first 32 hex digits of a sha256. */
export function fingerprintOf(tool: string, args: unknown, options?: KeyOrder): string {
  const isFinal = options?.keyOrderMatters === true
  return hashOf(tool, (isFinal ? JSON.stringify : stableStringify)(toWire(args)))
}

const hashOf = (tool: string, json: string): string =>
  hash('sha256', `[${JSON.stringify(tool)},${json}]`).slice(0, 32)

/**
 * A call as the tape of a session identifies it. The fingerprint of a redacted run depends on the key
 * of its user, so that nobody else can check a guess about the arguments.
 */
export function identified(call: CanonicalCall, { secrets }: Session): CanonicalCall {
  const { digestKey } = secrets
  if (digestKey === undefined) return call
  const digest = createHmac('sha256', digestKey).update(call.fingerprint).digest('hex')
  return { ...call, fingerprint: digest.slice(0, 32) }
}

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
