import { gunzipSync } from 'node:zlib'
import { domainToUnicode } from 'node:url'
import type { PastCall } from './call-history.js'
import { parsedText } from '../data/argument-path.js'
import { type Names, nameTest, type NameTest } from '../data/name-pattern.js'

/** The part of a trusted result beyond this length counts as untrusted. */
const FOLLOWED_LIMIT = 1_000_000
const SOURCE_LIMIT = 10_000

export interface TaintSource {
  readonly tool: string
  /** The trusted tool that passed the text on, if any. */
  readonly by?: string
}

/**
 * Tracks text from the results of untrusted tools into arguments, also through results of other
 * tools. Ignores text that an untrusted tool only repeats from its own arguments.
 *
 * Not promised: text that was translated, summarised, reversed, encrypted or cut into short pieces.
 */
export class TaintTracker {
  readonly #isUntrusted: NameTest
  readonly #index: TextIndex
  readonly #sources: TaintSource[] = []

  constructor(
    from: Names,
    readonly minLength: number,
    limit?: number,
  ) {
    this.#isUntrusted = nameTest(from)
    this.#index = new TextIndex(minLength, limit)
  }

  /** True if there was more untrusted text than can be tracked. Then all text counts as untrusted. */
  get isFull(): boolean {
    return this.#index.isFull
  }

  add({ tool, args, output, error }: PastCall): void {
    if (this.#isUntrusted(tool)) {
      const given = new TextIndex(this.minLength)
      eachLeaf(args, (text) => {
        this.#addForms(given, text, 0)
      })
      const source = this.#newSource({ tool })
      const take = (text: string): void => this.#addForms(this.#index, text, source, given)
      eachLeaf(output, take)
      eachLeaf(error, take)
    } else if (!this.#index.isEmpty) {
      let left = FOLLOWED_LIMIT
      const follow = (text: string): void => {
        left -= text.length
        const from = left < 0 ? this.#sources[0] : this.find(text)
        if (from !== undefined)
          this.#addForms(this.#index, text, this.#newSource({ tool: from.tool, by: tool }))
      }
      eachText(output, follow)
      eachText(error, follow)
    }
  }

  /** The source of a text or a part of it; undefined if it is not tainted. */
  find(text: string): TaintSource | undefined {
    if (this.#index.isEmpty || text.length < this.minLength) return undefined
    const { forms, isComplete } = textForms(text)
    for (const form of forms) {
      const source = this.#index.find(form)
      if (source !== undefined) return this.#sources[source]
    }
    if (!isComplete) return this.#sources[0]
    const parsed = parsedText(text)
    return typeof parsed === 'object' ? eachText(parsed, (each) => this.find(each)) : undefined
  }

  #addForms(index: TextIndex, text: string, source: number, except?: TextIndex): void {
    if (text.length < this.minLength) return
    for (const form of textForms(text).forms) index.add(form, source, except)
  }

  /** Beyond the limit, later sources share the last one. */
  #newSource(source: TaintSource): number {
    if (this.#sources.length < SOURCE_LIMIT) this.#sources.push(source)
    return this.#sources.length - 1
  }
}

type Visit<T> = (text: string) => T | undefined

/** Visits every text in arguments or in the result of a trusted tool, and pieces of text as one. */
export const eachText = <T>(value: unknown, visit: Visit<T>): T | undefined =>
  eachLeaf(value, visit, joinedMembers)

/**
 * Visits every string and number in a value, including keys, until `visit` returns something.
 * `joined` returns texts that a tool may put together from the members of a container.
 */
function eachLeaf<T>(
  value: unknown,
  visit: Visit<T>,
  joined: (container: object) => readonly string[] = joinedList,
): T | undefined {
  switch (typeof value) {
    case 'string':
      return visit(value)
    case 'number':
    case 'bigint':
      return visit(String(value))
    case 'symbol':
      return visit(value.description ?? '')
    case 'object':
      break
    case 'boolean':
    case 'undefined':
    case 'function':
      return undefined
  }
  if (value === null) return undefined
  const text = textIn(value)
  if (text !== undefined) return visit(text)
  for (const pieces of joined(value)) {
    const found = visit(pieces)
    if (found !== undefined) return found
  }
  if (Array.isArray(value) || value instanceof Set) {
    for (const each of value) {
      const found = eachLeaf(each, visit, joined)
      if (found !== undefined) return found
    }
    return undefined
  }
  for (const [key, member] of membersOf(value)) {
    const found = eachLeaf(key, visit, joined) ?? eachLeaf(member, visit, joined)
    if (found !== undefined) return found
  }
  return undefined
}

/** Untrusted objects are not joined: their members are followed one by one. */
const joinedList = (container: object): readonly string[] =>
  Array.isArray(container) && !container.some((each) => typeof each === 'object')
    ? joinedMembers(container)
    : []

/** Strings, numbers and records among the members as one text each: pieces, codes, message parts. */
export function joinedMembers(container: object): string[] {
  const isList = Array.isArray(container) || container instanceof Set
  const members = (
    isList
      ? [...(container as Iterable<unknown>)]
      : Array.from(membersOf(container), ([, each]) => each)
  ).flat(2)
  if (members.length < 2) return []
  const found: string[] = []
  const texts = members.filter((each) => typeof each === 'string').map(endsOf)
  if (texts.length > 1) found.push(texts.join(''))
  else if (members.every((each) => typeof each === 'number')) found.push(members.join(' '))
  const records = members.filter(isRecord)
  for (const key of Object.keys(records.length > 1 ? (records[0] ?? {}) : {}))
    found.push(
      records.map(({ [key]: each }) => (typeof each === 'string' ? endsOf(each) : '')).join(''),
    )
  return found
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  textIn(value) === undefined

/** Twice the largest `minLength`. */
const PIECE_MAX = 2000

/** The ends of a long text, whose middle is searched by itself. */
const endsOf = (text: string): string =>
  text.length > PIECE_MAX
    ? `${text.slice(0, PIECE_MAX / 2)}\uffff${text.slice(-PIECE_MAX / 2)}`
    : text

/** The text of an object that has a text form, such as a URL. */
function textIn(value: object): string | undefined {
  if (value instanceof URL) return value.href
  if (value instanceof RegExp) return value.source
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString()
  if (ArrayBuffer.isView(value))
    return textOf(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
  return value instanceof ArrayBuffer ? textOf(Buffer.from(value)) : undefined
}

function textOf(bytes: Buffer): string {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes.toString()
  try {
    return gunzipSync(bytes, { maxOutputLength: FOLLOWED_LIMIT }).toString()
  } catch {
    return bytes.toString()
  }
}

function membersOf(value: object): Iterable<readonly [unknown, unknown]> {
  if (value instanceof Map) return value as Map<unknown, unknown>
  if (!(value instanceof Error)) return Object.entries(value)
  const { message, cause, errors } = value as AggregateError
  return [['', message], ['', cause], ['', errors], ...Object.entries(value)]
}

/** Limits for levels of encoding and number of decoded texts. */
const DEPTH_LIMIT = 3
const FORM_LIMIT = 256
const SHORTEST_ENCODED = 16

interface TextForms {
  readonly forms: ReadonlySet<string>
  /** False if there are more than the limit. */
  readonly isComplete: boolean
}

/**
 * A text and its decoded forms, without white space and in lower case. Decodes URL, JSON, HTML,
 * base64, hex, octal, quoted-printable, Punycode and character codes, also nested.
 */
function textForms(text: string): TextForms {
  const forms = new Set<string>()
  let texts = [text]
  const seen = new Set(texts)
  for (let depth = 0; texts.length > 0; depth += 1) {
    for (const each of texts) forms.add(bareText(each))
    if (depth === DEPTH_LIMIT) break
    texts = texts
      .flatMap(unwrapped)
      .filter((each) => seen.size < FORM_LIMIT && !seen.has(each) && seen.add(each))
  }
  return { forms, isComplete: seen.size < FORM_LIMIT }
}

/** Removes white space, case, invisible characters and the scheme of URLs. */
const bareText = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{Mn}+/gu, '')
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu, '')
    .replaceAll(/https?:\/\/(?:www\.)?/g, '')

function unwrapped(text: string): string[] {
  const found: string[] = []
  if (text.includes('%') || text.includes('+'))
    found.push(
      text
        .replaceAll('+', ' ')
        .replaceAll(/%u([\da-f]{4})/gi, fromPoint)
        .replaceAll(/(?:%[\da-f]{2})+/gi, (run) =>
          Buffer.from(run.replaceAll('%', ''), 'hex').toString(),
        ),
    )
  if (/u\+[\da-f]{4}/i.test(text)) found.push(text.replaceAll(/u\+([\da-f]{4,6})/gi, fromPoint))
  if (text.includes('\\'))
    found.push(jsonUnescaped(text), text.replaceAll(/\\([\da-f]{1,6})\s?/gi, fromPoint))
  if (text.includes('&')) found.push(htmlUnescaped(text))
  if (/=[\dA-F]{2}/i.test(text)) found.push(quotedPrintableDecoded(text))
  if (/xn--/i.test(text)) found.push(text.replaceAll(/[\w.-]*xn--[\w.-]+/gi, domainToUnicode))
  const codes = text.match(/\b\d{2,6}(?:[\s,;:.|/_-]+\d{2,6}){7,}/g) ?? []
  for (const run of codes)
    found.push((run.match(/\d+/g) ?? []).map((code) => characterOf(Number(code)) ?? '').join(''))
  const compact = text.replaceAll(/\s+/g, '')
  for (const source of compact === text ? [text] : [text, compact]) {
    const runs = source.match(/[\w+/-]{16,}={0,2}/g) ?? []
    for (let from = 0; from < 4; from += 1)
      found.push(...joined(runs.map((run) => fromBase64(run.slice(from)))))
    const hex = source.match(/(?:[\da-f]{2}){12,}/gi) ?? []
    found.push(...joined(hex.map((run) => Buffer.from(run, 'hex'))))
  }
  // Removes separators, as in `61:62`, `0x61 0x62` and `aGVs.bG8h`.
  const spelled = text.replaceAll(/0x(?=[\da-f]{2})/gi, '').replaceAll(/[\s:;,.|_-]+/g, '')
  const hex = spelled === text ? [] : (spelled.match(/(?:[\da-f]{2}){12,}/gi) ?? [])
  found.push(...joined(hex.map((run) => Buffer.from(run, 'hex'))))
  const bits = spelled.match(/(?:[01]{8}){8,}/g) ?? []
  found.push(...joined(bits.map(fromBits)))
  if (spelled !== compact && /^[\w+/]{16,}={0,2}$/.test(spelled))
    found.push(...joined([fromBase64(spelled)]))
  return found.filter((each) => each !== text)
}

function joined(decoded: readonly Buffer[]): string[] {
  const texts = decoded.flatMap(readable)
  return texts.length === 0 ? [] : [texts.join('\uffff')]
}

const fromBits = (run: string): Buffer =>
  Buffer.from((run.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))

const fromBase64 = (run: string): Buffer =>
  run.length < SHORTEST_ENCODED ? Buffer.alloc(0) : Buffer.from(run, 'base64')

/** The bytes as text, if they are text. Tolerates a few invalid bytes at the ends. */
function readable(bytes: Buffer): string[] {
  if (bytes.length < 8) return []
  const isBigEndian = bytes[0] === 0 && bytes[2] === 0
  const isWide = isBigEndian || (bytes[1] === 0 && bytes[3] === 0)
  const even = isBigEndian ? Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16() : bytes
  const text = even.toString(isWide ? 'utf16le' : 'utf8')
  let oddLeft = text.length / 8
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 0xff_fd || (code < 32 && code !== 9 && code !== 10 && code !== 13)) oddLeft -= 1
    if (oddLeft < 0) return []
  }
  return [text]
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

const jsonUnescaped = (text: string): string =>
  text.replaceAll(
    /\\(?:u\{([\da-f]{1,6})\}|u([\da-f]{4})|x([\da-f]{2})|([0-3]?[0-7]{2})|(.))/gis,
    (whole, point, unit, byte, octal, char: string) => {
      const code = (point ?? unit ?? byte) as string | undefined
      if (code !== undefined) return characterOf(Number.parseInt(code, 16)) ?? whole
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(String(octal), 8))
      return ESCAPES[char] ?? char
    },
  )

const fromPoint = (whole: string, point: string): string =>
  characterOf(Number.parseInt(point, 16)) ?? whole

const characterOf = (code: number): string | undefined =>
  code <= 0x10ffff ? String.fromCodePoint(code) : undefined

const quotedPrintableDecoded = (text: string): string =>
  text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/(?:=[\dA-F]{2})+/gi, (run) =>
      Buffer.from(run.replaceAll('=', ''), 'hex').toString(),
    )

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  commat: '@',
  period: '.',
  colon: ':',
  sol: '/',
  bsol: '\\',
  num: '#',
  quest: '?',
  equals: '=',
  lowbar: '_',
  percnt: '%',
  hyphen: '-',
  dash: '-',
}

const htmlUnescaped = (text: string): string =>
  text.replaceAll(
    /&(?:#x0*([\da-f]{1,6});?|#0*(\d{1,7});?|(\w{2,8});)/gi,
    (whole, hex, decimal, name) => {
      if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole
      const code = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16)
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole
    },
  )

const TEXT_INDEX_LIMIT = 2_000_000

const FIRST_SLOTS = 1024

/**
 * Finds pieces of a fixed length that a text shares with the added texts. Stores a 64-bit hash of
 * each piece instead of the text, so that a search takes linear time.
 */
class TextIndex {
  isFull = false
  #slots = FIRST_SLOTS
  #used = 0
  #low = new Int32Array(FIRST_SLOTS)
  #high = new Int32Array(FIRST_SLOTS)
  /** Source ids, from 1; 0 means that the slot is free. */
  #source = new Int32Array(FIRST_SLOTS)

  constructor(
    readonly length: number,
    readonly limit = TEXT_INDEX_LIMIT,
  ) {}

  get isEmpty(): boolean {
    return this.#used === 0 && !this.isFull
  }

  /** Adds the pieces of a text, except those in `except`. */
  add(text: string, source: number, except?: TextIndex): void {
    eachPiece(text, this.length, (low, high) => {
      if (except !== undefined && except.#at(low, high) > 0) return false
      if (this.#used >= this.limit) {
        this.isFull = true
        return true
      }
      this.#put(low, high, source + 1)
      return false
    })
  }

  /** The source of the first known piece, if any. */
  find(text: string): number | undefined {
    if (this.#used === 0) return undefined
    let found = 0
    eachPiece(text, this.length, (low, high) => {
      found = this.#at(low, high)
      return found > 0
    })
    return found > 0 ? found - 1 : undefined
  }

  #at(low: number, high: number): number {
    const mask = this.#slots - 1
    for (let slot = spread(low, high) & mask; ; slot = (slot + 1) & mask) {
      const source = this.#source[slot] ?? 0
      if (source === 0 || (this.#low[slot] === low && this.#high[slot] === high)) return source
    }
  }

  #put(low: number, high: number, source: number): void {
    if (this.#used * 2 >= this.#slots) {
      const [low, high, source] = [this.#low, this.#high, this.#source]
      this.#slots *= 2
      this.#low = new Int32Array(this.#slots)
      this.#high = new Int32Array(this.#slots)
      this.#source = new Int32Array(this.#slots)
      this.#used = 0
      for (const [slot, from] of source.entries())
        if (from !== 0) this.#put(low[slot] ?? 0, high[slot] ?? 0, from)
    }
    const mask = this.#slots - 1
    let slot = spread(low, high) & mask
    for (; this.#source[slot] !== 0; slot = (slot + 1) & mask)
      if (this.#low[slot] === low && this.#high[slot] === high) return
    this.#low[slot] = low
    this.#high[slot] = high
    this.#source[slot] = source
    this.#used += 1
  }
}

const LOW_BASE = 0x01000193
const HIGH_BASE = 0x5bd1e995

const spread = (low: number, high: number): number => {
  const mixed = Math.imul(low ^ (high >>> 15), 0x85ebca6b)
  return mixed ^ (mixed >>> 13)
}

/** Visits the rolling hash of each piece until `visit` returns true. */
function eachPiece(
  text: string,
  length: number,
  visit: (low: number, high: number) => boolean,
): void {
  if (text.length < length) return
  let low = 0
  let high = 0
  let lowFirst = 1
  let highFirst = 1
  for (let at = 0; at < length; at += 1) {
    lowFirst = Math.imul(lowFirst, LOW_BASE)
    highFirst = Math.imul(highFirst, HIGH_BASE)
  }
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at) + 1
    low = (Math.imul(low, LOW_BASE) + code) | 0
    high = (Math.imul(high, HIGH_BASE) + Math.imul(code, 0x9e3779b1)) | 0
    if (at >= length) {
      const gone = text.charCodeAt(at - length) + 1
      low = (low - Math.imul(gone, lowFirst)) | 0
      high = (high - Math.imul(Math.imul(gone, 0x9e3779b1), highFirst)) | 0
    }
    if (at >= length - 1 && visit(low, high)) return
  }
}
