import { createContext, Script } from 'node:vm'
import { outsideRuns } from '../kernel/scope.js'
import type { Pattern } from './redaction-rules.js'

/** A text with its escapes decoded, and the original position of each character and of the end. */
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
/** One UTF-8 character. */
const URL_ESCAPE =
  /%[0-7][\da-f]|%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[0-7](?:%[89ab][\da-f]){3}|\+/gi

export const unescapedJson = (text: string): DecodedView =>
  decode(text, JSON_ESCAPE, ([, hex, short = '']) =>
    hex === undefined ? (SHORT[short] ?? short) : String.fromCharCode(Number.parseInt(hex, 16)),
  )

/** The decoded forms of a text with escapes; none if it has no escapes. */
export function decodedViews(text: string): DecodedView[] {
  const views: DecodedView[] = []
  if (text.includes('\\')) views.push(unescapedJson(text))
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
  try {
    return decodeURIComponent(escape)
  } catch {
    return escape
  }
}

/** Values are escaped in JSON, and again in JSON inside JSON. */
const DEPTH_MAX = 4

/** A match of a pattern, with its escapes decoded. */
export interface FoundValue {
  readonly start: number
  readonly end: number
  readonly value: string
  readonly pattern: Pattern
}

/**
 * Matches in a text as it is, or escaped as in JSON, in JSON inside JSON, or as in a URL. They may
 * overlap.
 */
export function findValues(text: string, given: readonly Pattern[], depth = 0): FoundValue[] {
  const found: FoundValue[] = []
  const patterns = given.filter(({ anchor }) => anchor?.test(text) ?? true)
  if (patterns.length === 0) return found
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

const MATCH_MS_MAX = 500
/** Number of failures after which a rule is not tried again. */
export const FAILURES_MAX = 4
/** By rule, because a server uses the same rules for every run. */
const failures = new Map<
  unknown,
  { readonly pattern: Pattern; readonly how: string; readonly count: number }
>()
const ruleOf = ({ stored, find, expression }: Pattern): unknown => stored ?? find ?? expression

/** How often these patterns threw or took too long in this process. */
export const failuresOf = (patterns: readonly Pattern[]): number =>
  patterns.reduce((sum, pattern) => sum + (failures.get(ruleOf(pattern))?.count ?? 0), 0)

/**
 * Patterns that threw or took too long in this process; every text that they were tried on is
 * hidden completely.
 */
export const failedPatterns = (): Pattern[] => [...failures.values()].map(({ pattern }) => pattern)

/**
 * For example `threw TypeError`. Omits the message, which may contain the text that the rule was
 * tried on.
 */
export const howFailed = (pattern: Pattern): string | undefined =>
  failures.get(ruleOf(pattern))?.how

function matchesOf(pattern: Pattern, text: string): [start: number, value: string][] {
  if (text === '') return []
  const failed = failuresOf([pattern])
  if (failed < FAILURES_MAX) {
    try {
      return allMatches(pattern, text)
        .filter(([, value]) => value !== '' && (pattern.accepts?.(value) ?? true))
        .map(([start, value]) => [start, value])
    } catch (error) {
      failures.set(ruleOf(pattern), { pattern, how: describeFailure(error), count: failed + 1 })
    }
  }
  return [[0, text]]
}

/** An error from the separate context of a rule is not an `Error` of this realm. */
function describeFailure(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown }
  if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'took longer than half a second'
  return typeof name === 'string' ? `threw ${name}` : 'threw'
}

const matching = new Script(
  '[...text.matchAll(expression)].map((match) => [match.index, match[0]])',
)
const sandbox = createContext({ text: '', expression: /$^/g })

const calling = new Script('[...find(text)]')

/** A user's rule may take forever on some texts; only the timeout of a script can end it. */
function allMatches({ name, expression, find, names }: Pattern, text: string): [number, string][] {
  if (names !== undefined) return names.matches(text)
  if (find !== undefined) {
    Object.assign(sandbox, { text, find })
    const values = outsideRuns(
      () => calling.runInContext(sandbox, { timeout: MATCH_MS_MAX }) as unknown[],
    )
    return [...new Set(values)].flatMap((value) => occurrencesOf(value, text))
  }
  if (name !== undefined)
    return Array.from(text.matchAll(expression), (match) => [match.index, match[0]])
  Object.assign(sandbox, { text, expression })
  return matching.runInContext(sandbox, { timeout: MATCH_MS_MAX }) as [number, string][]
}

function occurrencesOf(value: unknown, text: string): [number, string][] {
  if (typeof value !== 'string') throw new TypeError('a rule has to return texts')
  const found: [number, string][] = []
  if (value === '') return found
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length))
    found.push([at, value])
  return found
}

/** End of the escape that contains the last character before `end`. */
function endOf(offsets: Uint32Array, end: number): number {
  let next = end
  while (next < offsets.length - 1 && offsets[next] === offsets[end - 1]) next++
  return offsets[next] ?? 0
}

/** Personal data in a text, with its kind. Skips very short values, which would be parts of words. */
export function* personalValues(
  text: string,
  patterns: readonly Pattern[],
): Generator<{ readonly value: string; readonly kind: string }> {
  for (const { value, pattern } of findValues(text, patterns)) {
    const isEscaped = decodedViews(value).length > 0
    // `\nann@…` in JSON is not an address that starts with n: the decoded text contains the right
    // one.
    if (value.includes('retake-hidden') || isEscaped || value.length < SHORTEST) continue
    if (isInsideEscape(text, value)) continue
    // A failed pattern matches whole texts. Words of the tape itself can be this short.
    if (value === text && value.length < 8 && pattern.name === undefined) continue
    yield { value, kind: pattern.name ?? 'value' }
  }
}

const SHORTEST = 2

/** True if a value only occurs after a backslash, so that its first letter belongs to an escape. */
function isInsideEscape(text: string, value: string): boolean {
  if (!/^[bfnrtu]/.test(value)) return false
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1))
    if (text[at - 1] !== '\\') return false
  return text.includes(`\\${value}`)
}
