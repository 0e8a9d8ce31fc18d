import { attempt } from '../format/values/attempt.js'
import { toHex } from '../format/merkle.js'
import { fromBase64, toBase64 } from '../format/values/bytes.js'

/**
 * Finds known values and replaces them, both plain and encoded: escaped as in JSON (also JSON
 * inside JSON) or in a URL, in hex, and in base64 at each of its three alignments. A replacement
 * has the encoding of the original, so a program that decodes it gets the placeholder.
 *
 * All forms of all values are searched together (Wu and Manber, 1994): the time does not depend on
 * their number, and most characters of a text are skipped.
 *
 * Not promised: of nested encodings, only JSON or a URL inside base64, hex or a URL is found.
 */
export class KnownValues {
  readonly #values = new Map<string, string>()
  /** Values too short for the common search. */
  readonly #short = new Map<string, string>()
  /** Values that are replaced only as whole words, in the forms that are searched. */
  readonly #words = new Map<string, string>()
  #wordSearch: RegExp | undefined
  /** Forms of each value, cached because a recording learns new values all the time. */
  readonly #needles = new Map<string, readonly Needle[]>()
  #search: Search | undefined
  #longest = 0

  get size(): number {
    return this.#values.size + this.#short.size + this.#words.size
  }

  /** Length of the longest form that is searched. */
  get longest(): number {
    return this.#longest
  }

  has(value: string): boolean {
    return this.#values.has(value) || this.#short.has(value)
  }

  *entries(): Generator<[value: string, placeholder: string]> {
    yield* this.#values
    yield* this.#short
  }

  /** A value of fewer than eight characters is only found unencoded. */
  set(value: string, placeholder: string): void {
    if (value.length < SHORTEST) this.#short.set(value, placeholder)
    if (value.length < SHORTEST || this.#values.get(value) === placeholder) return
    const isNew = !this.#values.has(value)
    this.#values.set(value, placeholder)
    const forms = formsOf(value, placeholder)
    this.#needles.set(value, forms)
    this.#longest = Math.max(this.#longest, ...forms.map(({ text }) => text.length))
    // A recording learns new values all the time, and preparing a search for all of them is slow.
    if (!isNew || this.#search?.add(forms) !== true) this.#search = undefined
  }

  /**
   * A value that may be part of other words: with fewer than eight characters, it is only found as
   * a whole word.
   */
  setWord(value: string, placeholder: string): void {
    if (value.length >= SHORTEST) this.set(value, placeholder)
    else
      for (const form of [...WORD_FORMS, oneForEachByte]) {
        this.#words.set(form(value), form(placeholder))
        this.#wordSearch = undefined
      }
  }

  /**
   * Replaces every value. If a chunk or a limit cut the text inside a value, the beginning of the
   * value is replaced too if it has at least eight characters.
   */
  replace(text: string): string {
    let replaced = text
    if (this.#values.size > 0 && text.length >= SHORTEST) {
      this.#search ??= new Search([...this.#needles.values()].flat())
      replaced = this.#search.replace(text)
    }
    for (const [value, placeholder] of this.#short)
      replaced = replaced.replaceAll(value, () => placeholder)
    if (this.#words.size === 0) return replaced
    this.#wordSearch ??= anyWordOf(this.#words.keys())
    return replaced.replaceAll(this.#wordSearch, (word) => this.#words.get(word) ?? word)
  }
}

const SHORTEST = 8

interface Needle {
  readonly text: string
  readonly replacement: string
  /** False for values that are not secret, such as a folder that is a prefix of another one. */
  readonly mayBeCut: boolean
  /** For base64: the number of bytes before the value in its group of three, and the replacement bytes. */
  readonly base64?: { readonly before: number; readonly bytes: Uint8Array }
}

/** Characters that decide how far a search may skip. */
const BLOCK = 3
const HASH_MASK = 0x7fff
const hashAt = (text: string, last: number): number =>
  ((text.charCodeAt(last - 2) << 10) ^ (text.charCodeAt(last - 1) << 5) ^ text.charCodeAt(last)) &
  HASH_MASK

class Search {
  /** Minimum length of all forms; the rest of a longer form is compared last. */
  readonly #window: number
  readonly #skip = new Uint8Array(HASH_MASK + 1)
  readonly #endingIn = new Map<number, Needle[]>()
  /** Keyed by first characters, for texts that end inside one. */
  readonly #startingWith = new Map<string, Needle[]>()
  readonly #firstCharacters = new Uint8Array(256)

  constructor(needles: readonly Needle[]) {
    this.#window = Math.min(16, ...needles.map(({ text }) => text.length))
    this.#skip.fill(this.#window - BLOCK + 1)
    this.add(needles)
  }

  /** False if one is too short for this search, and nothing was added. */
  add(needles: readonly Needle[]): boolean {
    if (needles.some(({ text }) => text.length < this.#window)) return false
    for (const needle of needles) {
      for (let last = BLOCK - 1; last < this.#window; last++) {
        const hash = hashAt(needle.text, last)
        this.#skip[hash] = Math.min(this.#skip[hash] ?? 0, this.#window - 1 - last)
      }
      const hash = hashAt(needle.text, this.#window - 1)
      const ending = this.#endingIn.get(hash) ?? []
      // The longest wins.
      const at = ending.findIndex(({ text }) => text.length < needle.text.length)
      ending.splice(at < 0 ? ending.length : at, 0, needle)
      this.#endingIn.set(hash, ending)
      if (!needle.mayBeCut) continue
      const start = needle.text.slice(0, SHORTEST)
      const alike = this.#startingWith.get(start)
      if (alike === undefined) this.#startingWith.set(start, [needle])
      else alike.push(needle)
      this.#firstCharacters[needle.text.charCodeAt(0) & 255] = 1
    }
    return true
  }

  replace(text: string): string {
    const { length } = text
    const window = this.#window
    let replaced = ''
    let from = 0
    for (let last = window - 1; last < length;) {
      const hash = hashAt(text, last)
      const skip = this.#skip[hash] ?? 1
      if (skip > 0) {
        last += skip
        continue
      }
      const start = last - window + 1
      const rest = length - start
      const candidates = start < from ? [] : this.#endingIn.get(hash)
      const needle = candidates?.find((each) =>
        each.text.length <= rest
          ? text.startsWith(each.text, start)
          : each.mayBeCut && each.text.startsWith(text.slice(start)),
      )
      if (needle === undefined) {
        last += 1
        continue
      }
      const end = Math.min(length, start + needle.text.length)
      const edit = editOf(text, start, end, needle)
      replaced +=
        text.slice(from, Math.max(from, edit.from)) + edit.text.slice(Math.max(0, from - edit.from))
      from = edit.to
      last = end + window - 1
    }
    const cut = this.#cutAtEnd(text, from)
    if (cut === undefined) return from === 0 ? text : replaced + text.slice(from)
    return replaced + text.slice(from, cut.from) + cut.text
  }

  /** The start of a value at the end of the text, if it is shorter than the window. */
  #cutAtEnd(text: string, from: number): Edit | undefined {
    const { length } = text
    for (
      let start = Math.max(from, length - this.#window + 1);
      start <= length - SHORTEST;
      start++
    ) {
      if (this.#firstCharacters[text.charCodeAt(start) & 255] === 0) continue
      const end = text.slice(start)
      const alike = this.#startingWith.get(end.slice(0, SHORTEST))
      const needle = alike?.find((each) => each.text.startsWith(end))
      if (needle !== undefined) return editOf(text, start, length, needle)
    }
    return undefined
  }
}

interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** In base64, the characters at both ends also contain bits of the neighbours. */
function editOf(text: string, start: number, end: number, needle: Needle): Edit {
  const { replacement, base64 } = needle
  if (base64 === undefined || end - start < needle.text.length)
    return {
      from: start,
      to: end,
      text: replacement.slice(0, end - start === needle.text.length ? undefined : end - start),
    }
  const { before, bytes } = base64
  const lead = Math.min(start, [0, 2, 3][before] ?? 0)
  const groups = Math.ceil((before + bytes.length) / 3) * 4
  const missing = ([0, 2, 3][before] ?? 0) - lead
  const from = start - lead
  const given = /^[A-Za-z0-9+/_-]*/.exec(text.slice(from, from + groups - missing))?.[0] ?? ''
  const decoded = decodeBase64('A'.repeat(missing) + given)
  decoded.set(bytes.subarray(0, Math.max(0, decoded.length - before)), before)
  const isUrl = /[-_]/.test(given)
  // The last character of an incomplete group contains bits of the value that are in no whole byte.
  const encoded = encodeBase64(decoded, isUrl).slice(missing, missing + given.length)
  return { from, to: from + given.length, text: encoded.padEnd(given.length, 'A') }
}

const jsonEscaped = (text: string): string => JSON.stringify(text).slice(1, -1)
const asciiEscaped = (text: string): string =>
  jsonEscaped(text).replaceAll(
    /[^\0-\x7f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
/** A lone surrogate has no UTF-8 encoding, so such text stays unchanged. */
const urlEscaped = (text: string): string => attempt(() => encodeURIComponent(text), text)
const formEscaped = (text: string): string =>
  urlEscaped(text)
    .replaceAll('%20', '+')
    .replaceAll(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

/** Forms in which the agent, a provider or a browser may write a value. */
const TEXT_FORMS: readonly ((text: string) => string)[] = [
  (text) => text,
  jsonEscaped,
  (text) => jsonEscaped(jsonEscaped(text)),
  (text) => jsonEscaped(jsonEscaped(jsonEscaped(text))),
  asciiEscaped,
  (text) => jsonEscaped(text).replaceAll('/', '\\/'),
  urlEscaped,
  (text) => urlEscaped(text).replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
  (text) => urlEscaped(urlEscaped(text)),
  (text) => urlEscaped(jsonEscaped(text)),
  (text) => urlEscaped(jsonEscaped(jsonEscaped(text))),
  formEscaped,
]
const WORD_FORMS = [(text: string): string => text, jsonEscaped, asciiEscaped, urlEscaped]

/** A word begins after any character that is not a letter or digit, or after an escape. */
function anyWordOf(words: Iterable<string>): RegExp {
  const longestFirst = [...words].toSorted((a, b) => b.length - a.length)
  const any = longestFirst.map((word) => word.replaceAll(/[^\w\s]/gu, String.raw`\$&`)).join('|')
  return new RegExp(
    String.raw`(?<=^|[^\w\x80-\uffff]|\\[bfnrt]|\\u[\da-fA-F]{4}|%[\da-fA-F]{2})(?:${any})(?![\w\x80-\uffff])`,
    'g',
  )
}

/** Forms that are found inside hex and base64. */
const INNER_FORMS = [TEXT_FORMS[0], jsonEscaped, urlEscaped] as const

function formsOf(value: string, placeholder: string): Needle[] {
  const forms = new Map<string, Needle>()
  const mayBeCut = value.length === placeholder.length && /retake-h|x{8}/.test(placeholder)
  const add = (text: string, replacement: string, base64?: Needle['base64']): void => {
    if (text.length < SHORTEST || text === replacement || forms.has(text)) return
    forms.set(text, { text, replacement, mayBeCut, ...(base64 && { base64 }) })
  }
  const addText = (text: string, replacement: string): void => {
    add(text, replacement)
    // Bodies are searched with one character per byte.
    if (/[^\0-\x7f]/.test(text)) add(oneForEachByte(text), oneForEachByte(replacement))
  }
  for (const form of TEXT_FORMS) addText(form(value), form(placeholder))
  for (const form of INNER_FORMS) {
    if (form === undefined) continue
    const [bytes, hidden] = [utf8.encode(form(value)), utf8.encode(form(placeholder))]
    // A different length would shift everything after it.
    if (bytes.length !== hidden.length) continue
    add(toHex(bytes), toHex(hidden))
    add(toHex(bytes).toUpperCase(), toHex(hidden).toUpperCase())
    for (const before of [0, 1, 2]) {
      const [text, replacement] = [inBase64(bytes, before), inBase64(hidden, before)]
      const base64 = { before, bytes: hidden }
      add(text, replacement, base64)
      add(forUrl(text), forUrl(replacement), base64)
      add(urlEscaped(text), urlEscaped(replacement))
    }
  }
  return [...forms.values()]
}

/** Bytes of base64 of either alphabet, without padding. */
export function decodeBase64(text: string): Uint8Array {
  const standard = text.replaceAll('-', '+').replaceAll('_', '/')
  return fromBase64(standard.length % 4 === 1 ? standard.slice(0, -1) : standard)
}

/** Without padding. */
export function encodeBase64(bytes: Uint8Array, isForUrl: boolean): string {
  const text = toBase64(bytes).replace(/=+$/, '')
  return isForUrl ? forUrl(text) : text
}

const utf8 = new TextEncoder()
const oneForEachByte = (text: string): string =>
  Array.from(utf8.encode(text), (byte) => String.fromCharCode(byte)).join('')
const forUrl = (base64: string): string => base64.replaceAll('+', '-').replaceAll('/', '_')

/** The characters that contain only bits of `bytes`, which follow `before` other bytes. */
function inBase64(bytes: Uint8Array, before: number): string {
  const whole = new Uint8Array(before + bytes.length)
  whole.set(bytes, before)
  const start = Math.ceil((before * 8) / 6)
  return encodeBase64(whole, false).slice(start, Math.floor((whole.length * 8) / 6))
}
