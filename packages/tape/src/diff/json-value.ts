import { attempt } from '../format/values/attempt.js'
import { parseJson, isRecord, type JsonRecord } from '../format/values/json-shape.js'
import { plainJson } from '../format/values/plain-json.js'
import { toWire } from '../format/values/to-wire.js'
import { utf8 } from '../format/values/bytes.js'

/** Path of a member: `a.b`, or `a["odd key"]`. */
export const memberPath = (path: string, key: string): string => {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === '' ? key : `${path}.${key}`
}

/** Path inside of a JSON text, such as the arguments of a tool call. */
export const innerPath = (path: string, inner: string): string =>
  path === '' ? inner : `${path} » ${inner}`

/** The object or array in a JSON text; `undefined` for any other text. */
export const parseContainer = (text: string): JsonRecord | readonly unknown[] | undefined => {
  if (!/^\s*[[{]/.test(text)) return undefined
  return parseJson(text) as JsonRecord | readonly unknown[] | undefined
}

/** Any value as comparable JSON: a Map becomes a list of pairs, bytes become text or base64. */
export const asJson = (value: unknown): unknown =>
  value === undefined ? undefined : wireAsJson(toWire(value))

/** The same for a wire value. */
export const wireAsJson = (wire: unknown): unknown => withText(plainJson(wire))

/**
 * Decodes bytes that contain text, such as printed output. Has no callbacks, because each level
 * would need several frames of the stack.
 */
const withText = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const list: unknown[] = []
    for (const item of value as readonly unknown[]) list.push(withText(item))
    return list
  }
  if (!isRecord(value)) return value
  const entries = Object.entries(value)
  const [[key, base64] = []] = entries
  if (entries.length === 1 && key === 'base64' && typeof base64 === 'string') {
    return attempt(() => utf8(Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0)))) ?? value
  }
  const members: [string, unknown][] = []
  for (const [name, member] of entries) members.push([name, withText(member)])
  return Object.fromEntries(members)
}
