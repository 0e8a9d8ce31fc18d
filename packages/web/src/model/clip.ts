import { plainJson } from '@retake/tape'
import type { BodyView, Clipped } from './step-detail.js'

/** Characters of one string, and bytes of one body, that are shown without being asked for. */
const STRING_LIMIT = 32_768
const BODY_LIMIT = 262_144

/** A value as plain JSON with its long strings cut; each says how long it was. */
export const clip = (value: unknown): unknown => clipStrings(plainJson(value))

function clipStrings(value: unknown): unknown {
  if (typeof value === 'string') return value.length > STRING_LIMIT ? clipped(value) : value
  if (Array.isArray(value)) return value.map(clipStrings)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, clipStrings(each)]))
}

const clipped = (text: string): Clipped => ({
  $clipped: { head: text.slice(0, STRING_LIMIT), length: text.length },
})

/** How a body is shown. */
export function viewBody(body: Uint8Array, text: string | undefined, isJson: boolean): BodyView {
  const bytes = body.length
  if (bytes === 0) return { bytes, form: 'empty', text: '', clipped: false }
  if (text === undefined) return { bytes, form: 'binary', text: '', clipped: false }
  const isCut = text.length > BODY_LIMIT
  return {
    bytes,
    form: isJson ? 'json' : 'text',
    text: isCut ? text.slice(0, BODY_LIMIT) : text,
    clipped: isCut,
  }
}
