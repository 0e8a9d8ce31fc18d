import { createRequire } from 'node:module'
import path from 'node:path'
import { keyShapes } from '@retake/tape/secrets'
import { errors } from '../errors.js'
import { disk } from '../overlay/disk.js'
import { outsideRuns } from '../kernel/scope.js'

/** A kind of value that must not be shown. */
export interface Pattern {
  /**
   * Set for built-in patterns. Others stay private, because their text may contain the value that
   * they hide.
   */
  readonly name?: string
  /** For messages. */
  readonly label?: string
  readonly expression: RegExp
  /** A user's function that finds the values, instead of the expression. */
  readonly find?: FindValues
  /** A list of names, instead of the expression. */
  readonly names?: NameList
  /** The rule as a text for `readPatterns`; a function has none. */
  readonly stored?: string
  /** Cheaper than the expression, and matches every text that contains a match, even an escaped one. */
  readonly anchor?: RegExp
  /** Rejects matches that only look like such a value. */
  readonly accepts?: (found: string) => boolean
}

/** A rule in code: returns the values in a text that must be hidden. Must be synchronous. */
export type FindValues = (text: string) => Iterable<string>

/** The name of a built-in pattern, an expression, `names:<file>`, or a function. */
export type RedactRule = string | RegExp | FindValues

export const isRedactRule = (rule: unknown): rule is RedactRule =>
  (typeof rule === 'string' && rule !== '') || rule instanceof RegExp || typeof rule === 'function'

/** Six digits, possibly with separators; an escaped separator has six characters. */
const SIX_DIGITS = /\d(?:\D{0,6}\d){5}/
const EIGHT_DIGITS = /\d(?:\D{0,6}\d){7}/

let keys: RegExp | undefined

/** Each starts at a boundary, so that long texts are scanned only once. */
export const BUILT_IN: Readonly<Record<string, Pattern>> = {
  email: {
    name: 'email',
    anchor: /@|%40|u0040/i,
    expression: /(?<![\w.%+-])[\w.%+-]{1,64}@(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?![a-z])/gi,
  },
  phone: {
    name: 'phone',
    anchor: EIGHT_DIGITS,
    expression:
      /(?<![\w+])(?:\+\d{1,3}[ .\-/]?(?:\(\d{1,5}\)|\d{1,5})(?:[ .\-/]?\d{2,5}){1,5}|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?![\w])/g,
    accepts: (found) => digitsOf(found).length >= 8 && digitsOf(found).length <= 15,
  },
  card: {
    name: 'card',
    anchor: EIGHT_DIGITS,
    expression: /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])/g,
    // Rejects times in milliseconds and numbers next to another one, because groups have at most
    // six digits.
    accepts: (found) =>
      hasLuhnDigit(digitsOf(found)) && !/^1\d{12}$|\d{7}.*[ -]|[ -].*\d{7}/.test(found),
  },
  iban: {
    name: 'iban',
    anchor: /[A-Z]{2}\d{2}/,
    expression:
      /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/g,
    accepts: (found) => ibanRest(found.replaceAll(' ', '')) === 1,
  },
  ip: {
    name: 'ip',
    anchor: /\d\.\d+\.\d/,
    expression:
      /(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?!\w|\.\d)/g,
  },
  /** National numbers of people: USA, United Kingdom, Spain, France, Germany, Italy, Sweden, Netherlands. */
  id: {
    name: 'id',
    anchor: SIX_DIGITS,
    expression:
      /(?<![\w.-])(?:\d{3}-\d{2}-\d{4}|[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]|[XYZ\d]\d{7}-?[A-Z]|[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}|\d{2} ?\d{3} ?\d{3} ?\d{3}|[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]|(?:19|20)?\d{6}[-+]\d{4}|\d{9})(?![\w-])/g,
    accepts: isNationalId,
  },
  /** The part of a key after its prefix. */
  key: {
    name: 'key',
    // Made on first use, because most programs have no rules.
    get expression() {
      return (keys ??= keyShapes())
    },
  },
}

/**
 * Reads patterns as a user writes them: the name of a built-in pattern, an expression,
 * `/expression/flags`, or a function.
 */
export const readPatterns = (given: readonly RedactRule[]): Pattern[] =>
  given.map((each, at) => ({
    label: typeof each === 'function' ? each.name || `function ${at + 1}` : String(each),
    ...(typeof each === 'string'
      ? readPattern(each)
      : typeof each === 'function'
        ? { expression: NOTHING, find: each, ...storedAs(each) }
        : checked(each, String(each))),
  }))

const NOTHING = /$^/g
const ruleFiles = new WeakMap<FindValues, string>()

/**
 * Declares the source of a function, so that another process can load it: `module:<file>#<path of
 * members>`.
 */
export function declareRuleFile(rule: FindValues, file: string): void {
  ruleFiles.set(rule, file)
}

function storedAs(rule: FindValues): { readonly stored?: string } {
  const stored = ruleFiles.get(rule)
  return stored === undefined ? {} : { stored }
}

/** Rules as texts, for another process. Throws for a function that only this process has. */
export const ruleTexts = (rules: readonly RedactRule[]): string[] =>
  rules.map((rule) => {
    if (typeof rule !== 'function') return String(rule)
    const file = ruleFiles.get(rule)
    if (file === undefined) throw errors.REDACT_RULE_UNREADABLE(rule.name || 'a function')
    return file
  })

function readPattern(text: string): Pattern {
  if (Object.hasOwn(BUILT_IN, text)) return { ...(BUILT_IN[text] as Pattern), stored: text }
  if (text.startsWith(NAMES)) return readNames(namesIn(text.slice(NAMES.length)))
  if (text.startsWith(MODULE))
    return { expression: NOTHING, find: loadRule(text.slice(MODULE.length)), stored: text }
  const [, source = text, flags = ''] = /^\/(.*)\/([a-z]*)$/s.exec(text) ?? []
  try {
    return checked(new RegExp(source, flags), text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw errors.REDACT_PATTERN_INVALID(text, `${error.message}.`)
  }
}

const NAMES = 'names:'
const MODULE = 'module:'

function checked(expression: RegExp, text: string): Pattern {
  const flags = [...new Set(`${expression.flags.replace('y', '')}g`)].join('')
  const global = new RegExp(expression.source, flags)
  if (''.search(global) >= 0)
    throw errors.REDACT_PATTERN_INVALID(
      text,
      'It also matches nothing at all, so it would match everywhere.',
    )
  return { expression: global, stored: String(expression) }
}

/** Names of people, as listed and in capitals. */
export function readNames(listed: readonly string[]): Pattern {
  return {
    name: 'name',
    names: new NameList(listed.flatMap((name) => [name, name.toUpperCase()])),
    stored: NAMES + JSON.stringify(listed),
    expression: NOTHING,
  }
}

/** Finds names as whole words. The time does not depend on their number, unlike that of an expression. */
export class NameList {
  readonly sorted: readonly string[]
  /** The longest first. */
  readonly #byStart = new Map<string, string[]>()
  readonly #starts: RegExp

  constructor(names: readonly string[]) {
    this.sorted = [...new Set(names)].toSorted()
    for (const name of this.sorted.toSorted((a, b) => b.length - a.length)) {
      const start = name.match(START)?.[0] ?? ''
      const alike = this.#byStart.get(start)
      if (alike === undefined) this.#byStart.set(start, [name])
      else alike.push(name)
    }
    const areWords = [...this.#byStart.keys()].every((start) => IN_WORD.test(start))
    this.#starts = areWords ? WORDS : STARTS
  }

  /** From left to right, the longest name that fits. */
  matches(text: string): [start: number, name: string][] {
    const found: [number, string][] = []
    let end = 0
    for (const { 0: start, index } of text.matchAll(this.#starts)) {
      if (index < end) continue
      const name = this.#byStart.get(start)?.find((each) => isWordAt(text, index, each))
      if (name === undefined) continue
      found.push([index, name])
      end = index + name.length
    }
    return found
  }
}

/** A word, or one character that belongs to none. */
const START = /^(?:[\p{L}\p{N}_]+|.)/su
const STARTS = /[\p{L}\p{N}_]+|[^\p{L}\p{N}_]/gu
const WORDS = /[\p{L}\p{N}_]+/gu
const IN_WORD = /[\p{L}\p{N}_]/u
const AFTER_WORD = /[\p{L}\p{N}_]$/u

function isWordAt(text: string, at: number, name: string): boolean {
  const end = at + name.length
  return (
    text.startsWith(name, at) &&
    !AFTER_WORD.test(text.slice(Math.max(0, at - 2), at)) &&
    !IN_WORD.test(String.fromCodePoint(text.codePointAt(end) ?? SPACE))
  )
}

const SPACE = 32

/** Names in a file with one name per line, where `#` starts a comment, or as a tape stores them. */
function namesIn(given: string): string[] {
  if (given.startsWith('[')) return JSON.parse(given) as string[]
  let text: string
  try {
    text = outsideRuns(() => disk.readFileSync(given, 'utf8'))
  } catch (error) {
    throw errors.NAMES_UNREADABLE(given, error)
  }
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line.length > 1 && !line.startsWith('#'))
}

/** The default export of `<file>`; with `<file>#<path of members>`, a member of it. */
function loadRule(given: string): FindValues {
  const [file = '', members = ''] = given.split('#')
  let loaded: unknown
  try {
    const load = createRequire(path.join(process.cwd(), 'rules.cjs'))
    loaded = outsideRuns(() => load(path.resolve(file)) as unknown)
  } catch (error) {
    throw errors.REDACT_RULE_UNREADABLE(file, error)
  }
  for (const member of ['default', ...members.split('.').filter((each) => each !== '')])
    loaded = (loaded as Readonly<Record<string, unknown>> | undefined)?.[member]
  if (typeof loaded !== 'function') throw errors.REDACT_RULE_UNREADABLE(file)
  return loaded as FindValues
}

export const digitsOf = (text: string): string => text.replaceAll(/\D/g, '')

/** The check digit of payment cards. */
export function hasLuhnDigit(digits: string): boolean {
  let sum = 0
  for (const [index, digit] of Array.from(digits).toReversed().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2)
    sum += value > 9 ? value - 9 : value
  }
  return sum % 10 === 0 && /[1-9]/.test(digits)
}

/** 1 for valid check digits (ISO 13616). */
export function ibanRest(iban: string): number {
  let rest = 0
  for (const character of iban.slice(4) + iban.slice(0, 4))
    for (const digit of String(Number.parseInt(character, 36)))
      rest = (rest * 10 + Number(digit)) % 97
  return rest
}

const DNI_LETTERS = 'TRWAGMYFPDXBNJZSQVHLCKE'

/** Verifies check digits if the country has them; otherwise rejects numbers that are never issued. */
function isNationalId(found: string): boolean {
  const plain = found.replaceAll(/[ +-]/g, '')
  const digits = digitsOf(found)
  if (/^\d{3}-\d{2}-\d{4}$/.test(found)) return !/^(?:000|666|9)|-00-|-0000$/.test(found)
  if (/^[XYZ\d]\d{7}[A-Z]$/.test(plain))
    return (
      DNI_LETTERS[
        Number(plain.slice(0, -1).replace(/^[XYZ]/, (l) => String('XYZ'.indexOf(l)))) % 23
      ] === plain.at(-1)
    )
  if (/^[12]\d{4}\d[\dAB]\d{8}$/.test(plain)) {
    const number = BigInt(plain.slice(0, 13).replace('2A', '19').replace('2B', '18'))
    return 97n - (number % 97n) === BigInt(plain.slice(13))
  }
  if (/^\d{11}$/.test(plain)) return hasGermanTaxDigit(plain)
  if (/[-+]\d{4}$/.test(found)) return hasLuhnDigit(digits.slice(-10))
  if (/^\d{9}$/.test(plain)) {
    const sum = [9, 8, 7, 6, 5, 4, 3, 2, -1].reduce(
      (all, by, at) => all + by * Number(plain[at]),
      0,
    )
    return sum % 11 === 0 && /[1-9]/.test(plain)
  }
  return true
}

/** ISO 7064, MOD 11,10. The first digit is never 0. */
function hasGermanTaxDigit(digits: string): boolean {
  let product = 10
  for (const digit of digits.slice(0, 10)) {
    const sum = (Number(digit) + product) % 10 || 10
    product = (sum * 2) % 11
  }
  return !digits.startsWith('0') && (11 - product) % 10 === Number(digits[10])
}
