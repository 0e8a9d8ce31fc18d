import { attempt } from '../format/values/attempt.js'
import { isRecord, parseJson } from '../format/values/json-shape.js'
import { joinBytes, utf8 } from '../format/values/bytes.js'
import type { SseEvent } from '../http/sse.js'
import { innerPath, memberPath, parseContainer } from '../diff/json-value.js'
import type { MatchExcerpt, Occurrence } from './locate.js'

/** A match whose location is not attached yet. */
export interface Hit extends Pick<Occurrence, 'excerpt' | 'count' | 'inString'> {
  readonly path?: string
  readonly offset?: number
  /** The event, if the content is spread over several. */
  readonly seq?: number
  /** The whole text that contains the match. */
  readonly whole?: string
}

const AROUND = 80

/** A match with some context, cut at whole characters. */
const excerptOf = (text: string, { index, length }: Match): MatchExcerpt => ({
  before: (index > AROUND ? '…' : '') + trimHalf(text.slice(Math.max(0, index - AROUND), index)),
  match: text.slice(index, index + length),
  after:
    trimHalf(text.slice(index + length, index + length + AROUND)) +
    (text.length > index + length + AROUND ? '…' : ''),
})

/** Removes half of a surrogate pair that a cut left over. */
const trimHalf = (text: string): string =>
  text.replace(/^[\uDC00-\uDFFF\uFFFD]+|[\uD800-\uDBFF\uFFFD]+$/g, '')

interface Match {
  readonly index: number
  readonly length: number
}

export interface ValueMatcher {
  findIn(text: string): Match[]
  isNumber(value: number): boolean
  /** Searches bytes, given as one character each; `narrow` converts text to the same form. */
  findInBytes?(bytes: string, narrow: (text: string) => string): Match[]
}

/** Maximum number of matches in one text: a single letter may occur a million times. */
const MAX_MATCHES = 1000

/**
 * Finds a text literally or as JSON escapes it: once, with all non-ASCII characters escaped, or
 * twice. If the text was copied from JSON and is itself escaped, also finds its unescaped form.
 * Digits match only as a whole number: 60 does not occur in 1600.
 */
export class ExactMatcher implements ValueMatcher {
  readonly #forms: readonly string[]
  readonly #number: number | undefined

  constructor(text: string) {
    const once = JSON.stringify(text).slice(1, -1)
    const ascii = once.replace(/[^\0-\u007F]/g, escapeUnit)
    const twice = JSON.stringify(once).slice(1, -1)
    const unescaped = text.includes('\\')
      ? attempt(() => JSON.parse(`"${text}"`) as string, text)
      : text
    this.#forms = [...new Set([text, once, ascii, twice, unescaped])]
    this.#number = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined
  }

  findIn(text: string): Match[] {
    for (const form of this.#forms) {
      const matches = this.#findForm(text, form)
      if (matches.length > 0) return matches
    }
    return []
  }

  isNumber(value: number): boolean {
    return value === this.#number
  }

  findInBytes(bytes: string, narrow: (text: string) => string): Match[] {
    return this.#findForm(bytes, narrow(this.#forms[0] ?? ''))
  }

  #findForm(text: string, form: string): Match[] {
    const matches: Match[] = []
    const { length } = form
    let index = text.indexOf(form)
    while (index >= 0 && matches.length < MAX_MATCHES) {
      // Whether digits are not part of a longer number.
      if (
        this.#number === undefined ||
        (!/\d\.?$/.test(text.slice(Math.max(0, index - 2), index)) &&
          !/^\.?\d/.test(text.slice(index + length, index + length + 2)))
      ) {
        matches.push({ index, length })
        index = text.indexOf(form, index + length)
      } else index = text.indexOf(form, index + 1)
    }
    return matches
  }
}

const escapeUnit = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Finds similar texts: different capitals, spaces or punctuation. */
export class NearMatcher implements ValueMatcher {
  readonly #pattern: RegExp | undefined

  constructor(text: string) {
    const words = text.match(/\p{N}+|\p{L}+/gu) ?? []
    // A single character is similar to everything.
    const isLong = words.join('').length > 1 && words.length <= 50
    this.#pattern = isLong ? new RegExp(words.join('[^\\p{L}\\p{N}]{0,8}'), 'giu') : undefined
  }

  findIn(text: string): Match[] {
    if (this.#pattern === undefined) return []
    return [...text.matchAll(this.#pattern)]
      .slice(0, MAX_MATCHES)
      .map(({ 0: { length }, index }) => ({ index, length }))
  }

  isNumber(): boolean {
    return false
  }
}

interface Fragment {
  readonly text: string
  readonly seq: number
}

/**
 * Searches server-sent events. Joins texts under the same path first, because models stream their
 * words in small pieces.
 */
export const searchStream = (
  events: readonly SseEvent[],
  seqOf: (event: SseEvent) => number,
  matcher: ValueMatcher,
): Hit[] => {
  const texts = new Map<string, Fragment[]>()
  const numbers: Hit[] = []
  for (const event of events) {
    const seq = seqOf(event)
    const data = parseJson(event.data) ?? event.data
    const name = event.event === 'message' ? '' : event.event
    for (const [path, text] of textsIn(data, name, [])) {
      const known = texts.get(path)
      if (known === undefined) texts.set(path, [{ text, seq }])
      else known.push({ text, seq })
    }
    if (typeof data === 'string') continue
    numbers.push(
      ...searchJson(data, matcher, name)
        .filter(({ whole }) => whole === undefined)
        .map((hit) => ({ ...hit, seq })),
    )
  }
  const words = [...texts].flatMap(([path, fragments]) => searchFragments(path, fragments, matcher))
  // Some providers repeat the whole text at the end of a stream; the first occurrence is enough.
  const hits = [...words, ...numbers]
  const isSummary = ({ path = '' }: Hit): boolean =>
    /(^|[._])(done|completed|stop)\b/.test(path.split(/[.[]/, 4).join('.'))
  const details = hits.filter((hit) => !isSummary(hit))
  return details.length > 0 ? details : [...hits]
}

const searchFragments = (
  path: string,
  fragments: readonly Fragment[],
  matcher: ValueMatcher,
): Hit[] => {
  const [first] = fragments
  if (first === undefined) return []
  // A value that is the same in every event, such as an id, was not split.
  const isConstant = fragments.every(({ text }) => text === first.text)
  if (isConstant)
    return searchString(first.text, matcher, path).map((hit) => ({ ...hit, seq: first.seq }))
  const joined = fragments.map(({ text }) => text).join('')
  const [match] = matcher.findIn(joined)
  const last = fragments.at(-1)?.seq ?? first.seq
  const seq =
    match === undefined
      ? last
      : pieceAt(
          fragments.map(({ text, seq }) => ({ seq, bytes: text })),
          match.index + match.length - 1,
        )
  return searchString(joined, matcher, path).map((hit) => ({ ...hit, seq }))
}

/** Strings with their paths, which include `index` to tell concurrent streams apart. */
function* textsIn(
  value: unknown,
  path: string,
  indexes: readonly number[],
): Generator<[path: string, text: string]> {
  if (typeof value === 'string') {
    yield [
      indexes.some((index) => index > 0) ? `${path} (index ${indexes.join('/')})` : path,
      value,
    ]
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* textsIn(item, `${path}[${index}]`, indexes)
  } else if (isRecord(value)) {
    const own = value['index'] ?? value['output_index']
    const inner = typeof own === 'number' ? [...indexes, own] : indexes
    for (const [key, member] of Object.entries(value)) {
      yield* textsIn(member, memberPath(path, key), inner)
    }
  }
}

/** Maximum depth. Real data is not nested deeper, but a tape may contain anything. */
const MAX_DEPTH = 200

/** All matches in a JSON value: strings, numbers and keys, also in JSON inside strings. */
export const searchJson = (value: unknown, matcher: ValueMatcher, path = '', depth = 0): Hit[] => {
  if (depth > MAX_DEPTH) return []
  if (typeof value === 'string') return searchString(value, matcher, path)
  if (typeof value === 'number')
    return matcher.isNumber(value) ||
      matcher.findIn(String(value)).some(({ length }) => length === String(value).length)
      ? [{ path, excerpt: { before: '', match: String(value), after: '' }, count: 1 }]
      : []
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => searchJson(item, matcher, `${path}[${index}]`, depth + 1))
  }
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([key, member]) => {
    const at = memberPath(path, key)
    const inKey = hitsIn(key, matcher).map((hit) => ({ ...hit, path: `${at} (the key)` }))
    return [...inKey, ...searchJson(member, matcher, at, depth + 1)]
  })
}

/** Text that is JSON is parsed, so that the path is complete and escapes do not matter. */
export const searchText = (text: string, matcher: ValueMatcher, path: string): Hit[] => {
  const inner = parseContainer(text)
  const hits =
    inner === undefined
      ? []
      : searchJson(inner, matcher).map((hit) => ({
          ...hit,
          path: innerPath(path, hit.path ?? ''),
          whole: text,
        }))
  if (hits.length > 0) return hits
  return hitsIn(text, matcher).map((hit) => ({ ...hit, path, whole: text }))
}

/** A string in JSON. Text of several lines, such as a prompt, cannot be taken for another type. */
const searchString = (text: string, matcher: ValueMatcher, path: string): Hit[] => {
  const hits = searchText(text, matcher, path)
  if (text.includes('\n')) return hits
  // A hit in JSON inside of the string has its own path and type.
  return hits.map((hit) => (hit.path === path ? { ...hit, inString: true } : hit))
}

const hitsIn = (text: string, matcher: ValueMatcher): Hit[] => {
  const matches = matcher.findIn(text)
  const [first] = matches
  return first === undefined ? [] : [{ excerpt: excerptOf(text, first), count: matches.length }]
}

/** A part of some content, and the event that contains it. */
export interface SearchPiece {
  readonly seq: number
  readonly bytes: Uint8Array
}

/**
 * Searches the joined content, so that split values are found. A match in JSON has a path and
 * belongs to the last piece; any other has an offset and belongs to the piece that completes it.
 */
export const searchPieces = (pieces: readonly SearchPiece[], matcher: ValueMatcher): Hit[] => {
  const bytes = joinBytes(pieces.map((piece) => piece.bytes))
  if (bytes.length === 0) return []
  const text = utf8(bytes)
  const json = text === undefined ? undefined : parseContainer(text)
  const hits = json === undefined ? [] : searchJson(json, matcher)
  const last = pieces.at(-1)?.seq ?? 0
  if (hits.length > 0) return hits.map((hit) => ({ ...hit, seq: last }))
  return text === undefined ? searchBytes(bytes, pieces, matcher) : inText(text, pieces, matcher)
}

const inText = (text: string, pieces: readonly SearchPiece[], matcher: ValueMatcher): Hit[] => {
  const encoder = new TextEncoder()
  let [counted, offset] = [0, 0]
  const located = matcher.findIn(text).map((match) => {
    offset += encoder.encode(text.slice(counted, match.index)).length
    counted = match.index
    const size = encoder.encode(text.slice(match.index, match.index + match.length)).length
    return { offset, seq: pieceAt(pieces, offset + size - 1), excerpt: excerptOf(text, match) }
  })
  return onePerPiece(located)
}

/** Bytes that are not text may still contain text. */
const searchBytes = (
  bytes: Uint8Array,
  pieces: readonly SearchPiece[],
  matcher: ValueMatcher,
): Hit[] => {
  // One character per byte, so that an index is an offset.
  const characters = new TextDecoder('latin1')
  const narrow = (text: string): string => characters.decode(new TextEncoder().encode(text))
  const matches = matcher.findInBytes?.(characters.decode(bytes), narrow) ?? []
  const decoder = new TextDecoder()
  const text = (from: number, to: number): string => decoder.decode(bytes.subarray(from, to))
  return onePerPiece(
    matches.map(({ index, length }) => {
      const before = text(Math.max(0, index - 40), index)
      const match = text(index, index + length)
      const joined = before + match + text(index + length, index + length + 40)
      return {
        offset: index,
        seq: pieceAt(pieces, index + length - 1),
        excerpt: excerptOf(joined, { index: before.length, length: match.length }),
      }
    }),
  )
}

interface Found {
  readonly offset: number
  readonly seq: number
  readonly excerpt: Hit['excerpt']
}

/** Merges matches in one event into one hit, represented by the first. */
const onePerPiece = (found: readonly Found[]): Hit[] => {
  const bySeq = new Map<number, Found & { count: number }>()
  for (const each of found) {
    const known = bySeq.get(each.seq)
    if (known === undefined) bySeq.set(each.seq, { ...each, count: 1 })
    else known.count++
  }
  return [...bySeq.values()]
}

/** The event that contains the byte at an offset. */
const pieceAt = (
  pieces: readonly { readonly seq: number; readonly bytes: { readonly length: number } }[],
  offset: number,
): number => {
  let end = 0
  for (const { seq, bytes } of pieces) {
    end += bytes.length
    if (offset < end) return seq
  }
  return pieces.at(-1)?.seq ?? 0
}
