import type { McpExchange, Message, MessagePart, RecordedError } from '@retake/tape'
import { cutAt } from '@retake/tape/present'
import type { BodyView, Clipped } from './run-source.js'

/** Replaces bytes that are not UTF-8. May also be part of the text itself. */
const REPLACEMENT = '\uFFFD'

/**
 * Decodes chunks of UTF-8. A character that is split over two chunks comes with the second. Invalid
 * bytes become replacement characters and are reported.
 */
export class LossyText {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })

  read(bytes: Uint8Array): { readonly text: string; readonly isLossy: boolean } {
    const text = this.#decoder.decode(bytes, { stream: true })
    const isLossy =
      text.includes(REPLACEMENT) && text.split(REPLACEMENT).length - 1 > countWritten(bytes)
    return { text, isLossy }
  }
}

function countWritten(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(0xef); at >= 0; at = bytes.indexOf(0xef, at + 1))
    if (bytes[at + 1] === 0xbf && bytes[at + 2] === 0xbd) count++
  return count
}

const LINE = 400
const HEADLINE = 8192
const STACK = 32_768
const CAUSES = 8
const ERRORS = 20
const NOTIFICATIONS = 200

/** Clips long texts. Ids and names stay plain strings. */
export const clipMessages = (
  messages: readonly Message[],
  budget = new ClipBudget(),
): readonly Message[] =>
  messages.map(({ role, parts }) => ({
    role,
    parts: parts.map((part): MessagePart => {
      switch (part.type) {
        case 'text':
        case 'reasoning':
          return { ...part, text: budget.text(part.text) as string }
        case 'tool_call': {
          const { type, id, name, args } = part
          return {
            type,
            id: cutText(id, LINE),
            name: cutText(name, LINE),
            args: clip(args, budget),
          }
        }
        case 'tool_result':
          return { ...part, id: cutText(part.id, LINE), content: clip(part.content, budget) }
        case 'image':
          return { ...part, source: cutText(part.source, HEADLINE) }
        case 'other':
          return { ...part, kind: cutText(part.kind, LINE), value: clip(part.value, budget) }
      }
    }),
  }))

export function clipMcp(exchange: McpExchange, budget = new ClipBudget()): McpExchange {
  const { server, method, id, params, result, error, notifications } = exchange
  return {
    ...exchange,
    server: server === undefined ? undefined : cutText(server, LINE),
    method: cutText(method, LINE),
    id: typeof id === 'string' ? cutText(id, LINE) : id,
    params: clip(params, budget),
    result: clip(result, budget),
    error: error && {
      ...error,
      message: cutText(error.message, HEADLINE),
      ...('data' in error && { data: clip(error.data, budget) }),
    },
    notifications: notifications.slice(0, NOTIFICATIONS).map((each) => ({
      at: each.at,
      method: cutText(each.method, LINE),
      params: clip(each.params, budget),
    })),
  }
}

export function clipError(
  error: RecordedError,
  budget = new ClipBudget(),
  depth = 0,
): RecordedError {
  const { stack, text, code, props, symbols, cause, errors, thrown } = error
  const inner = (each: RecordedError): RecordedError => clipError(each, budget, depth + 1)
  const isDeep = depth >= CAUSES
  return {
    class: cutText(error.class, LINE),
    name: cutText(error.name, LINE),
    message: cutText(error.message, HEADLINE),
    ...(error.base !== undefined && { base: cutText(error.base, LINE) }),
    ...(stack !== undefined && { stack: cutText(stack, STACK) }),
    ...(text !== undefined && { text: cutText(text, HEADLINE) }),
    ...(code !== undefined && { code: typeof code === 'string' ? cutText(code, LINE) : code }),
    ...(props && { props: clip(props, budget) as Readonly<Record<string, unknown>> }),
    ...(symbols && { symbols: clip(symbols, budget) as Readonly<Record<string, unknown>> }),
    ...(cause && !isDeep && { cause: inner(cause) }),
    ...(errors && !isDeep && { errors: errors.slice(0, ERRORS).map(inner) }),
    ...(thrown !== undefined && { thrown: clip(thrown, budget) }),
  }
}

/** Maximum characters shown of one string and of one body. */
const STRING_LIMIT = 32_768
const BODY_LIMIT = 262_144
/** Number of bytes whose base64 is just within the limit. */
const BYTES_LIMIT = (STRING_LIMIT / 4) * 3
/** Limits for one value: nodes, characters, depth. */
const NODES_MAX = 20_000
const CHARACTERS_MAX = 2_000_000
const DEPTH_MAX = 60
/** Limit for strings after the budget is used up, and for keys. */
const SHORT = 240

/**
 * Converts a value to plain JSON for display. Cuts long strings and notes their length (`$clipped`).
 * In very large arrays and objects, counts the rest (`$leftOut`). Values that JSON cannot express
 * become text. Never throws.
 */
export const clip = (value: unknown, budget = new ClipBudget()): unknown =>
  value === undefined ? undefined : budget.clip(value, 0)

/** Remaining budget, shared by all values of a step. */
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
    if (value instanceof Map || value instanceof Set) return this.#list([...value], depth)
    if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString()
    if (value instanceof RegExp || value instanceof URL) return this.text(String(value))
    if (value instanceof ArrayBuffer) return this.#bytes(new Uint8Array(value))
    if (ArrayBuffer.isView(value))
      return this.#bytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    if (!(value instanceof Error)) return this.#members(value, depth)
    const { name, message, stack } = value
    return this.#members(Object.assign({ name, message, stack }, value), depth)
  }

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
      // Escapes keys that look like markers.
      const isMarker = key === '$clipped' || key === '$leftOut'
      shown.push([isMarker ? `$${key}` : cutText(key, SHORT), this.clip(member, depth + 1)])
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
}

export const cutText = (text: string, limit: number): string =>
  text.length <= limit
    ? text
    : `${cutAt(text, limit)}… (${text.length - cutAt(text, limit).length} more characters)`

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
