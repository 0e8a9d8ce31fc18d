import { attempt } from './attempt.js'

/**
 * Readers for JSON of unknown form. A provider may change its answers at any time, and tapes must
 * stay readable, so a value of another type counts as missing.
 */
export type JsonRecord = Readonly<Record<string, unknown>>

const EMPTY: JsonRecord = {}

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const recordOf = (value: unknown): JsonRecord => (isRecord(value) ? value : EMPTY)

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const recordsOf = (value: unknown): readonly JsonRecord[] => listOf(value).filter(isRecord)

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export const optionalText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** A non-empty text; an empty one counts as missing. */
export const filledText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/**
 * Nesting of values that are read. `JSON.parse` has no limit, but everything that walks through its
 * result needs stack for each level, and some functions need half of it for these.
 */
export const VALUE_DEPTH_MAX = 1024
/** Records are values in wire format: the recorder stops at 500, each of up to four levels. */
const RECORD_DEPTH_MAX = 2048
/** The viewer shows bodies level by level, without recursion. */
const VIEWED_DEPTH_MAX = 10_100

/** Parsed JSON; `undefined` if the text is not JSON, or nested more deeply than can be read. */
export const parseJson = (text: string): unknown =>
  isTooDeep(text, VALUE_DEPTH_MAX) ? undefined : attempt(() => JSON.parse(text) as unknown)

/** True for JSON that the viewer can show as a tree, which may be too deep for `parseJson`. */
export const isViewableJson = (text: string): boolean =>
  !isTooDeep(text, VIEWED_DEPTH_MAX) && attempt(() => JSON.parse(text) !== undefined, false)

/** True if JSON is nested more deeply than any that the recorder writes, or than `depthMax`. */
export function isTooDeep(json: string, depthMax = RECORD_DEPTH_MAX): boolean {
  if (json.length < 2 * depthMax) return false
  let depth = 0
  let isText = false
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (isText) {
      if (code === 0x5c) at++
      else if (code === 0x22) isText = false
    } else if (code === 0x22) isText = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > depthMax) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}

/** Replaces what is nested more deeply than others can walk through, in JSON that is changed here. */
export function withoutDepth(json: unknown): unknown {
  const waiting: [object: unknown, level: number][] = [[json, 0]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [object, level] = next
    if (typeof object !== 'object' || object === null) continue
    const members = object as Record<string, unknown>
    for (const [key, member] of Object.entries(members))
      if (level < VALUE_DEPTH_MAX) waiting.push([member, level + 1])
      else if (typeof member === 'object' && member !== null) members[key] = TOO_DEEP
  }
  return json
}

export const TOO_DEEP = '(nested too deeply)'

/** Arguments of a tool call: parsed, or the text if the model wrote invalid JSON. */
export const parseArguments = (text: string): unknown =>
  text === '' ? {} : (parseJson(text) ?? text)

/** The message of an error answer, in the formats of all providers. */
export const errorMessage = (json: unknown): string | undefined => {
  const { error, message, detail } = recordOf(json)
  // From Mistral and other FastAPI servers, for an invalid request.
  const invalid = detail ?? recordOf(message)['detail']
  const texts = recordsOf(invalid).map(({ msg }) => textOf(msg))
  return (
    optionalText(error) ??
    optionalText(recordOf(error)['message']) ??
    optionalText(message) ??
    optionalText(invalid) ??
    (texts.length === 0 ? undefined : texts.join('; '))
  )
}

/** The fields that have a value; others are omitted, as optional properties require. */
export type Defined<T> = {
  [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key]
} & {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>
}

export const defined = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Defined<T>
