import { cutAt } from '@retake/tape/present'
import type { BodyView, Clipped } from './step-detail.js'

/** Characters of one string, and of one body, that are shown without being asked for. */
const STRING_LIMIT = 32_768
const BODY_LIMIT = 262_144
/** So many bytes are a string of base64 just within its limit. */
const BYTES_LIMIT = (STRING_LIMIT / 4) * 3
/** What one value may come to: values, characters, and levels. */
const NODES_MAX = 20_000
const CHARACTERS_MAX = 2_000_000
const DEPTH_MAX = 60
/** Of a string when the characters are used up, and of a key. */
const SHORT = 240

/**
 * A value as plain JSON that can be shown: long strings are cut, each saying how long
 * it was (`$clipped`), and of very large arrays and objects the rest is counted
 * (`$leftOut`). What JSON has no word for becomes text. Nothing here throws.
 */
export const clip = (value: unknown, budget = new ClipBudget()): unknown =>
  value === undefined ? undefined : budget.clip(value, 0)

/** How much may still be shown; one for all values of a step keeps the whole small. */
export class ClipBudget {
  #nodes = NODES_MAX
  #characters = CHARACTERS_MAX

  clip(value: unknown, depth: number): unknown {
    this.#nodes--
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
    if (typeof value === 'boolean' || value === null) return value
    if (typeof value === 'bigint' || typeof value === 'symbol') return this.text(String(value))
    if (typeof value !== 'object') return null
    if (Array.isArray(value)) return this.#list(value, depth)
    return this.#special(value, depth) ?? this.#members(value, depth)
  }

  /** A string whole, or its beginning and its length. */
  text(text: string): string | Clipped {
    const limit = this.#characters > 0 ? STRING_LIMIT : SHORT
    const head = cutAt(text, limit)
    this.#characters -= head.length
    return head.length === text.length ? text : { $clipped: { head, length: text.length } }
  }

  #list(items: readonly unknown[], depth: number): unknown[] {
    const shown: unknown[] = []
    for (const item of items) {
      if (!this.#hasRoom(depth)) return [...shown, { $leftOut: items.length - shown.length }]
      shown.push(this.clip(item, depth + 1))
    }
    return shown
  }

  #members(value: object, depth: number): Record<string, unknown> {
    const entries = Object.entries(value)
    const shown: [string, unknown][] = []
    for (const [key, member] of entries) {
      if (!this.#hasRoom(depth)) {
        shown.push(['$leftOut', entries.length - shown.length])
        break
      }
      shown.push([shownKey(key), this.clip(member, depth + 1)])
    }
    return Object.fromEntries(shown)
  }

  #bytes(bytes: Uint8Array): { readonly base64: string | Clipped } {
    const characters = Array.from(bytes.subarray(0, BYTES_LIMIT), (byte) =>
      String.fromCharCode(byte),
    )
    const head = btoa(characters.join(''))
    this.#characters -= head.length
    const length = Math.ceil(bytes.length / 3) * 4
    return { base64: head.length === length ? head : { $clipped: { head, length } } }
  }

  #hasRoom(depth: number): boolean {
    return this.#nodes > 0 && depth < DEPTH_MAX
  }

  /** Objects that are more than their members. */
  #special(value: object, depth: number): unknown {
    if (value instanceof Map || value instanceof Set) return this.#list([...value], depth)
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
    if (value instanceof RegExp || value instanceof URL) return this.text(String(value))
    if (value instanceof ArrayBuffer) return this.#bytes(new Uint8Array(value))
    if (ArrayBuffer.isView(value))
      return this.#bytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    if (!(value instanceof Error)) return undefined
    const { name, message, stack } = value
    return this.#members(Object.assign({ name, message, stack }, value), depth)
  }
}

/** Names that stand for what was left out cannot be names of members. */
const shownKey = (key: string): string =>
  key === '$clipped' || key === '$leftOut' ? `$${key}` : cutText(key, SHORT)

/** A string for a place where only text can stand: cut, and saying so. */
export const cutText = (text: string, limit: number): string =>
  text.length <= limit
    ? text
    : `${cutAt(text, limit)}… (${text.length - cutAt(text, limit).length} more characters)`

/** How a body is shown. */
export function viewBody(body: Uint8Array, text: string | undefined, isJson: boolean): BodyView {
  const bytes = body.length
  if (bytes === 0) return { bytes, form: 'empty', text: '', clipped: false }
  if (text === undefined) return { bytes, form: 'binary', text: '', clipped: false }
  const shown = cutAt(text, BODY_LIMIT)
  return {
    bytes,
    form: isJson ? 'json' : 'text',
    text: shown,
    clipped: shown.length < text.length,
  }
}
