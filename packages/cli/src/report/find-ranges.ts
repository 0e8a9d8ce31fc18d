import { createContext, Script } from 'node:vm'
import { attempt } from '../attempt.js'
import type { Pattern } from './patterns.js'

/** Shorter texts are scanned completely. */
const LONG = 32 << 10
/** Length of the common part of two texts that is scanned again: no match is longer. */
const MARGIN = 16 << 10

/**
 * Finds ranges in successive texts. Every request of a conversation repeats the previous one, so
 * equal parts are scanned only once.
 */
export class RangeFinder {
  #text = ''
  #ranges: readonly SecretRange[] = []

  constructor(private readonly patterns: readonly Pattern[]) {}

  find(text: string): readonly SecretRange[] {
    if (text.length < LONG) return findRanges(text, this.patterns)
    const from = this.#knownUntil(text)
    const known = this.#ranges.filter(([, end]) => end <= from)
    const rest = findRanges(text.slice(from), this.patterns)
    const found = rest.map(([start, end]): SecretRange => [start + from, end + from])
    this.#text = text
    this.#ranges = joinRanges([...known, ...found])
    return this.#ranges
  }

  /** A place before which nothing has changed since the last text; it is not inside a range or an escape. */
  #knownUntil(text: string): number {
    const same = commonLength(this.#text, text) - MARGIN
    const quote = same <= 0 ? -1 : text.lastIndexOf('"', same)
    const across = this.#ranges.find(([start, end]) => start < quote && end > quote)
    return Math.max(0, across?.[0] ?? quote)
  }
}

function commonLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let length = 0
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length++
  return length
}

/** A text with its escapes undone, and where each of its characters stood; one more for the end. */
interface DecodedView {
  readonly text: string
  readonly offsets: Uint32Array
}

const SHORT: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
  '/': '/',
}

const JSON_ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/g
/** One character of UTF-8. */
const URL_ESCAPE =
  /%[0-7][\da-f]|%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[0-7](?:%[89ab][\da-f]){3}|\+/gi

/** The ways a text can be read that has escapes in it; none when it has none. */
export function decodedViews(text: string): DecodedView[] {
  const views: DecodedView[] = []
  if (text.includes('\\'))
    views.push(
      decode(text, JSON_ESCAPE, ([, hex, short = '']) =>
        hex === undefined ? (SHORT[short] ?? short) : String.fromCharCode(Number.parseInt(hex, 16)),
      ),
    )
  if (/%[0-9a-fA-F]{2}/.test(text)) views.push(decode(text, URL_ESCAPE, ([all]) => percent(all)))
  return views.filter((view) => view.text !== text)
}

function decode(
  text: string,
  escapes: RegExp,
  meaning: (escape: RegExpExecArray) => string,
): DecodedView {
  const parts: string[] = []
  const offsets = new Uint32Array(text.length + 1)
  let length = 0
  let from = 0
  const copy = (to: number): void => {
    parts.push(text.slice(from, to))
    for (let at = from; at < to; at++) offsets[length++] = at
  }
  for (const escape of text.matchAll(escapes)) {
    copy(escape.index)
    const decoded = meaning(escape)
    parts.push(decoded)
    for (let i = 0; i < decoded.length; i++) offsets[length++] = escape.index
    from = escape.index + escape[0].length
  }
  copy(text.length)
  offsets[length] = text.length
  return { text: parts.join(''), offsets: offsets.subarray(0, length + 1) }
}

function percent(escape: string): string {
  if (escape === '+') return ' '
  return attempt(() => decodeURIComponent(escape), escape)
}

/** Characters of a text, the last not included. */
export type SecretRange = readonly [start: number, end: number]

/** Values are escaped in JSON, and JSON in JSON again. */
const DEPTH_MAX = 4

/** Something that a pattern matches, with its escapes undone. */
export interface FoundValue {
  readonly start: number
  readonly end: number
  readonly value: string
  readonly pattern: Pattern
}

/** Matches in a text, unescaped or escaped as in JSON, in JSON inside JSON, or as in a URL. They may overlap. */
export function findValues(text: string, patterns: readonly Pattern[], depth = 0): FoundValue[] {
  const found: FoundValue[] = []
  for (const pattern of patterns)
    for (const [start, value] of matchesOf(pattern, text))
      found.push({ start, end: start + value.length, value, pattern })
  if (depth < DEPTH_MAX) {
    for (const { text: decoded, offsets } of decodedViews(text)) {
      for (const { start, end, ...match } of findValues(decoded, patterns, depth + 1))
        found.push({ ...match, start: offsets[start] ?? 0, end: endOf(offsets, end) })
    }
  }
  return found
}

/** The same as ranges, in order and without overlaps. */
export const findRanges = (text: string, patterns: readonly Pattern[]): SecretRange[] =>
  joinRanges(findValues(text, patterns).map(({ start, end }) => [start, end]))

const MATCH_MS_MAX = 500
const FAILURES_MAX = 4
const failures = new Map<Pattern, number>()

/** Patterns that threw or took too long in this process: each text they were tried on is hidden completely. */
export const failedPatterns = (): Pattern[] => [...failures.keys()]

function matchesOf(pattern: Pattern, text: string): [start: number, value: string][] {
  if (text === '') return []
  const failed = failures.get(pattern) ?? 0
  if (failed < FAILURES_MAX) {
    try {
      return allMatches(pattern, text)
        .filter(([, value]) => value !== '' && (pattern.accepts?.(value) ?? true))
        .map(([start, value]) => [start, value])
    } catch {
      failures.set(pattern, failed + 1)
    }
  }
  return [[0, text]]
}

const matching = new Script(
  '[...text.matchAll(expression)].map((match) => [match.index, match[0]])',
)
const sandbox = createContext({ text: '', expression: /$^/g })

/** An expression of a user may take forever on some texts; only the timeout of a script can end it. */
function allMatches({ name, expression }: Pattern, text: string): [number, string][] {
  if (name !== undefined)
    return Array.from(text.matchAll(expression), (match) => [match.index, match[0]])
  Object.assign(sandbox, { text, expression })
  return matching.runInContext(sandbox, { timeout: MATCH_MS_MAX }) as [number, string][]
}

/** End of the escape that contains the last character before `end`. */
function endOf(offsets: Uint32Array, end: number): number {
  let next = end
  while (next < offsets.length - 1 && offsets[next] === offsets[end - 1]) next++
  return offsets[next] ?? 0
}

/** In order, and without overlaps. */
export function joinRanges(ranges: SecretRange[]): SecretRange[] {
  if (ranges.length < 2) return ranges
  const result: [number, number][] = []
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else result.push([start, end])
  }
  return result
}
