import type { BodyForm } from './events.js'
import { isTooDeep, VALUE_DEPTH_MAX } from './values/json-shape.js'
import { asBuffer, fromWire } from './values/from-wire.js'
import { toWire, type ToWireOptions } from './values/to-wire.js'

const encoder = new TextEncoder()
/** Node pools memory for short Buffers; separate allocations would have to be freed, too. */
const utf8 = (text: string): Uint8Array =>
  typeof Buffer === 'function' ? Buffer.from(text) : encoder.encode(text)
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Encodes a value as the body of an event: a Buffer as raw bytes, text as text, everything else as
 * JSON of a wire value.
 */
export const encodeBody = (
  value: unknown,
  options?: ToWireOptions,
): { as: BodyForm; body: Uint8Array } => {
  if (typeof Buffer === 'function' && Buffer.isBuffer(value)) return { as: 'bytes', body: value }
  // UTF-8 cannot encode lone surrogates; JSON escapes them.
  const isText = typeof value === 'string' && !/\p{Surrogate}/u.test(value)
  return isText
    ? { as: 'text', body: utf8(value) }
    : { as: 'json', body: utf8(JSON.stringify(toWire(value, options))) }
}

/** Decodes a body written by `encodeBody`, into new memory. */
export const decodeBody = (as: BodyForm, body: Uint8Array): unknown => {
  if (as === 'bytes') return asBuffer(new Uint8Array(body))
  const text = decoder.decode(body)
  return as === 'text' ? text : decodeJson(text)
}

/** Decodes a JSON body that is given as text. */
export const decodeJson = (json: string): unknown => {
  // Without a tag key, a wire value is the value itself. An escape might hide the key.
  const isTagged = json.includes('"$"') || json.includes('\\u')
  // In wire format, one level of a value may be several.
  if (isTagged ? isTooDeep(json) : isTooDeep(json, VALUE_DEPTH_MAX))
    throw new RangeError('the value is nested too deeply')
  const wire: unknown = JSON.parse(json)
  return isTagged ? fromWire(wire) : wire
}
