import type { BodyForm } from './events.js'
import { asBuffer, fromWire } from './from-wire.js'
import { toWire, type ToWireOptions } from './to-wire.js'

/** A value as the body of an event. A Buffer is kept as raw bytes, text as text, all else as JSON of a wire value. */
export const encodeBody = (
  value: unknown,
  options?: ToWireOptions,
): { as: BodyForm; body: Uint8Array } => {
  if (typeof Buffer === 'function' && Buffer.isBuffer(value)) return { as: 'bytes', body: value }
  // UTF-8 has no lone surrogates; JSON escapes them.
  const isText = typeof value === 'string' && !/\p{Surrogate}/u.test(value)
  return isText
    ? { as: 'text', body: new TextEncoder().encode(value) }
    : { as: 'json', body: new TextEncoder().encode(JSON.stringify(toWire(value, options))) }
}

/** The value of a body written by `encodeBody`, in memory of its own. */
export const decodeBody = (as: BodyForm, body: Uint8Array): unknown => {
  if (as === 'bytes') return asBuffer(new Uint8Array(body))
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
  return as === 'text' ? text : fromWire(JSON.parse(text))
}
