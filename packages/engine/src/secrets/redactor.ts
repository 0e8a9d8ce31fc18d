import { attempt, firstIndex } from '@retake/tape/format'
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { errors } from '../errors.js'
import { natives } from '../kernel/natives.js'
import { outsideRuns } from '../kernel/scope.js'
import { decodedViews, FAILURES_MAX, failuresOf, howFailed, personalValues } from './find-values.js'
import { type Pattern, readPatterns, type RedactRule } from './redaction-rules.js'
import { VaultKey } from './vault-key.js'

export type HiddenValue = readonly [value: string, pseudonym: string]

/**
 * Finds personal data in everything that a recording is about to write, and gives each value a
 * pseudonym. Remembers both, sealed for the tape, so that a replay with the key can put the values
 * back. A rule that throws or takes too long hides whole texts: nothing leaks, and the originals
 * are sealed.
 */
export class Redactor {
  /** True if the whole conversation is hidden: messages, arguments, results, output. */
  readonly hidesContent: boolean
  readonly #patterns: readonly Pattern[]
  readonly #known = new Map<string, string>()
  readonly #pseudonyms = new Set<string>()
  #unwritten: HiddenValue[] = []
  readonly #warned = new Set<Pattern>()

  constructor(
    rules: readonly RedactRule[],
    readonly key: VaultKey = outsideRuns(() => VaultKey.ownOrNew()),
  ) {
    this.hidesContent = rules.includes(CONTENT)
    this.#patterns = readPatterns(rules.filter((rule) => rule !== CONTENT))
  }

  /** The rules for a branch of the run, as text; a function has none. */
  get storedRules(): readonly string[] {
    const stored = this.#patterns.map(({ stored: text }) => text ?? FUNCTION)
    return this.hidesContent ? [...stored, CONTENT] : stored
  }

  /** The kinds of hidden data, to show to people. */
  get kinds(): readonly string[] {
    const kinds = this.#patterns.map(({ name }) => name ?? 'own rule')
    return [...new Set([...kinds, ...(this.hidesContent ? [CONTENT] : [])])]
  }

  get known(): ReadonlyMap<string, string> {
    return this.#known
  }

  /** Adds values that an earlier part of the run hid. */
  addKnown(values: Iterable<HiddenValue>): void {
    for (const [value, pseudonym] of values) {
      this.#known.set(value, pseudonym)
      this.#pseudonyms.add(pseudonym)
    }
  }

  /** New values in a text; undefined if a rule failed, so that none of the text may be shown. */
  discover(text: string): HiddenValue[] | undefined {
    const before = failuresOf(this.#patterns)
    const found: HiddenValue[] = []
    const texts = [text]
    for (const [, encoded] of textsInBase64(text)) texts.push(encoded)
    for (const each of texts)
      for (const { value, kind } of personalValues(each, this.#patterns))
        if (!this.#known.has(value) && !this.#pseudonyms.has(value))
          found.push(this.#hide(kind, value))
    const after = failuresOf(this.#patterns)
    if (after > before) this.#warn()
    return after > before || this.#patterns.some((pattern) => failuresOf([pattern]) >= FAILURES_MAX)
      ? undefined
      : found
  }

  /** Printed immediately, because nobody reads a run as long as it goes well. */
  #warn(): void {
    for (const pattern of this.#patterns) {
      const how = howFailed(pattern)
      if (how === undefined || this.#warned.has(pattern)) continue
      this.#warned.add(pattern)
      const { what, why, fix } = errors.REDACT_RULE_FAILED(pattern.name ?? pattern.label ?? '', how)
      natives.stderrWrite(Buffer.from(`retake: ${what} ${why} ${fix}\n`))
    }
  }

  /** Hides a value that no pattern matches, such as a whole text. */
  hideWhole(value: string): HiddenValue {
    const known = this.#known.get(value)
    return known === undefined ? this.#hide('text', value) : [value, known]
  }

  /** Two values never share a pseudonym, because it must lead back to one of them. */
  #hide(kind: string, value: string): HiddenValue {
    let pseudonym = value
    for (let draw = 0; draw < DRAWS_MAX; draw++) {
      pseudonym = this.key.pseudonym(draw === 0 ? kind : `${kind} ${draw}`, value)
      if (pseudonym !== value && !this.#pseudonyms.has(pseudonym)) break
    }
    const hidden: HiddenValue = [value, pseudonym]
    this.addKnown([hidden])
    this.#unwritten.push(hidden)
    return hidden
  }

  /** Values that are not on the tape yet. */
  takeUnwritten(): readonly HiddenValue[] {
    const values = this.#unwritten
    if (values.length > 0) this.#unwritten = []
    return values
  }

  /**
   * Position from which the end of a text may belong to a value that is not complete, because it is
   * not known yet how it continues. The text has one character per byte.
   */
  unfinishedFrom(text: string): number {
    const tail = text.slice(-TAIL_MAX)
    return text.length - tail.length + unfinishedIn(tail, this.#patterns)
  }
}

/** Undefined without rules. */
export const redactorOf = (rules: readonly RedactRule[] | undefined): Redactor | undefined =>
  rules === undefined || rules.length === 0 ? undefined : new Redactor(rules)

/** The rule that hides the whole conversation. */
export const CONTENT = 'content'
/** A rule of `record()` that exists only in the program itself. */
export const FUNCTION = 'function:'
const DRAWS_MAX = 64
const BASE64_MIN = 16
const BASE64_MAX = 1 << 20
const isBase64 = Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9+/_-]/.test(String.fromCharCode(code)),
)

/**
 * Words of at least 16 characters that may be base64. Each covers a multiple of 16, so few
 * positions are checked.
 */
function* base64Runs(text: string): Generator<string> {
  const fits = (at: number): boolean => isBase64[text.charCodeAt(at)] === true
  for (let at = BASE64_MIN - 1; at < text.length; at += BASE64_MIN) {
    if (!fits(at)) continue
    let [from, to] = [at, at + 1]
    while (fits(from - 1)) from -= 1
    while (fits(to)) to += 1
    if (to - from >= BASE64_MIN) yield text.slice(from, to)
    at = to
  }
}

const strictText = new TextDecoder('utf-8', { fatal: true })

/** Words that are text in base64 of either alphabet, with that text. */
export function* textsInBase64(text: string): Generator<readonly [base64: string, text: string]> {
  for (const run of base64Runs(text)) {
    if (run.length > BASE64_MAX) continue
    const decoded = attempt(() => strictText.decode(Buffer.from(run, 'base64url')))
    if (decoded !== undefined && /^[\t\n\r\x20-\uffff]*$/.test(decoded)) yield [run, decoded]
  }
}

function unfinishedIn(tail: string, patterns: readonly Pattern[]): number {
  const cut = tail.search(CUT_AT_END)
  const bytes = Buffer.from(cut < 0 ? tail : tail.slice(0, cut), 'latin1')
  const text = bytes.toString()
  let from = cut < 0 ? tail.length : cut
  // Counted from the end, because the first character may be cut, too.
  const startingAt = (at: number): number => bytes.length - Buffer.byteLength(text.slice(at))
  const check = (view: string, offsetOf: (at: number) => number, depth: number): void => {
    for (const { name, names } of patterns) {
      const at = names
        ? startOfName(view, names.sorted)
        : view.search(UNFINISHED[name ?? ''] ?? LINE)
      if (at >= 0) from = Math.min(from, startingAt(offsetOf(at)))
    }
    if (depth < ESCAPES_MAX)
      for (const { text: decoded, offsets } of decodedViews(view))
        check(decoded, (at) => offsetOf(offsets[at] ?? 0), depth + 1)
  }
  check(text, (at) => at, 0)
  return Math.max(0, from)
}

const ESCAPES_MAX = 2
const TAIL_MAX = 256
const NUMBER = /[+(]?[A-Z]{0,6}\d[\dA-Z ().\-/+]*$|\+$/
const UNFINISHED: Readonly<Record<string, RegExp>> = {
  email: /[\w.%+@-]+$/,
  phone: NUMBER,
  card: NUMBER,
  iban: /(?:[A-Z]{2}\d[\dA-Z ]*|[A-Z]{1,2})$/,
  ip: NUMBER,
  id: /[A-Z\d][A-Z\d +-]*$/,
  key: /[\w.-]+$/,
}
/** A user's rules may match anything in a line, but not the end of JSON. */
const LINE = /[^\n\]}]+$/

/** An incomplete UTF-8 character at the end of a text with one character per byte. */
export const CUT_CHARACTER = /(?:[\xc0-\xff]|[\xe0-\xff][\x80-\xbf]|[\xf0-\xff][\x80-\xbf]{2})$/
/** The same, or an incomplete escape. */
const CUT_AT_END = new RegExp(
  String.raw`${CUT_CHARACTER.source}|\\+(?:u[\da-fA-F]{0,3})?$|%[\da-fA-F]?$`,
)

/** Position of the first word from which the text is the start of a name; `names` are sorted. */
function startOfName(text: string, names: readonly string[]): number {
  for (let at = 0; at < text.length; at++) {
    if (at > 0 && /[\p{L}\p{N}]/u.test(text[at - 1] ?? '')) continue
    if (isStartOfAny(text.slice(at), names)) return at
  }
  return -1
}

const isStartOfAny = (start: string, names: readonly string[]): boolean =>
  names[firstIndex(names, (name) => name >= start)]?.startsWith(start) === true

// ── sealing ─────────────────────────────────────────────────────────────────

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM: nonce, tag, content. */
export function seal(key: VaultKey, content: Uint8Array): Buffer {
  const nonce = natives.randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key.derive('redaction'), nonce)
  const sealed = Buffer.concat([cipher.update(content), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

/** Throws if the key is wrong or the bytes were changed. */
export function unseal(key: VaultKey, sealed: Uint8Array): Buffer {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key.derive('redaction'), nonce)
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const content = sealed.subarray(NONCE_BYTES + TAG_BYTES)
  return Buffer.concat([decipher.update(content), decipher.final()])
}
