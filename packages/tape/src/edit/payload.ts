import { fromBase64, toBase64 } from '../format/base64.js'
import { invalidAnswer } from '../format/errors.js'
import { recordOf } from '../providers/json-shape.js'

/**
 * What a person edits: plain JSON, and what it stands for. Numbers beyond the
 * safe integers of JavaScript are rounded, as for everyone who parses JSON.
 */
export interface Payload {
  /**
   * - `json`: a parsed body, or the message that a model's stream adds up to
   * - `text`, `base64`: any other body, as `{ text }` or `{ base64 }`
   * - `result`, `error`: how a tool ended, as wire values (see `values.ts`)
   * - `value`: what a draw gave
   */
  readonly kind: 'json' | 'text' | 'base64' | 'result' | 'error' | 'value'
  readonly data: unknown
}

/** The payload of a body: parsed when it is JSON, else text, else base64. */
export const bodyPayload = (body: {
  readonly body: Uint8Array
  readonly text: string | undefined
  readonly json: unknown
}): Payload => {
  if (body.json !== undefined) return { kind: 'json', data: body.json }
  return body.text === undefined
    ? { kind: 'base64', data: { base64: toBase64(body.body) } }
    : { kind: 'text', data: { text: body.text } }
}

/** The body that a payload of kind `json`, `text` or `base64` stands for. */
export const payloadBytes = ({ kind, data }: Payload): Uint8Array => {
  if (kind === 'text') return new TextEncoder().encode(memberText(data, 'text'))
  if (kind === 'base64') return bytesOf(memberText(data, 'base64'))
  return new TextEncoder().encode(JSON.stringify(data))
}

const memberText = (data: unknown, key: string): string => {
  const { [key]: value } = recordOf(data)
  if (typeof value !== 'string') throw invalidAnswer([`${key} is not a string`])
  return value
}

const bytesOf = (text: string): Uint8Array => {
  try {
    return fromBase64(text)
  } catch {
    throw invalidAnswer(['base64 does not hold base64'])
  }
}
