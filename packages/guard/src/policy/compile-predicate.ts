import { type Fit, fitIf, type FitTest, NO, notFit, UNKNOWN, YES } from './fit.js'
import { canonicalHost } from '../bounds/network-bounds.js'
import { decodedString, parsedText, UNREADABLE } from '../data/argument-path.js'
import { LinearPattern, PATTERN_TEXT_LIMIT } from './linear-pattern.js'
import type { Conditions, Predicate, ValueType } from './policy.js'
import { toWire, wireEqual } from '@retake/tape/format'

function equalTest(operand: unknown, ignoreCase: boolean | undefined): FitTest {
  if (typeof operand === 'object' && operand !== null) {
    const wire = toWire(operand)
    return (value) =>
      typeof value === 'object' && value !== null ? fitIf(wireEqual(toWire(value), wire)) : NO
  }
  const single = singleTest(operand, ignoreCase)
  if (typeof operand !== 'string' && typeof operand !== 'number') return single
  // A tool that accepts a list or an object in place of one value uses all of its members.
  const within = (value: unknown): boolean => {
    if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
      const isKeyed = value instanceof Map || value instanceof Set
      return (isKeyed ? [...value.values()] : Object.values(value)).some(within)
    }
    if (single(value) !== NO) return true
    const parsed = parsedText(value)
    return parsed === UNREADABLE || (parsed !== undefined && within(parsed))
  }
  return (value) => single(value) || (within(value) ? UNKNOWN : NO)
}

/** Compares one value with a plain operand. */
function singleTest(operand: unknown, ignoreCase: boolean | undefined): FitTest {
  const loose = looseTest(operand)
  if (typeof operand === 'string' && ignoreCase) {
    const folded = operand.toLowerCase()
    return (value) =>
      typeof value === 'string' ? fitIf(value.toLowerCase() === folded) : loose(value)
  }
  const read = typeof operand === 'string' ? loosely(operand) : undefined
  return (value) => {
    if (value === operand) return YES
    if (typeof value === 'string' && read !== undefined)
      return loosely(value) === read ? UNKNOWN : NO
    return typeof value === typeof operand ? NO : loose(value)
  }
}

/** Compares values of different types that a tool may treat as equal, such as `100` and `"100"`. */
function looseTest(operand: unknown): FitTest {
  if (operand === null || operand === undefined) return () => NO
  const text = (textOf(operand) ?? '').trim()
  const number = text === '' ? Number.NaN : Number(text)
  return (value) => {
    switch (typeof value) {
      case 'string': {
        const given = value.trim()
        return given === text || (given !== '' && Number(given) === number) ? UNKNOWN : NO
      }
      case 'number':
        return value === number ? looseNumber(operand) : NO
      case 'bigint':
        return Number(value) === number && String(value) === text ? looseNumber(operand) : NO
      case 'boolean':
        return String(value) === text ? UNKNOWN : NO
      case 'object':
        return value !== null && (textOf(value) === text || isWrapped(value, operand))
          ? UNKNOWN
          : NO
      case 'undefined':
      case 'symbol':
      case 'function':
        return NO
    }
  }
}

/** A number and a bigint can be equal; a string is only converted to a number by some tools. */
const looseNumber = (operand: unknown): Fit => (typeof operand === 'string' ? UNKNOWN : YES)

/** True for a list with this value as its only member, which has the same text. */
const isWrapped = (value: object | undefined, operand: unknown): boolean =>
  Array.isArray(value) && value.length === 1 && String(value[0]) === String(operand)

/** Compiles a predicate. The test gets undefined for a missing value. */
export function compilePredicate(predicate: Predicate): FitTest {
  const tests = conditionsOf(predicate).map(([name, operand, all]) =>
    conditionTest(name, operand, all),
  )
  const [only] = tests
  const whole: FitTest =
    only !== undefined && tests.length === 1 ? only : (value) => least(tests, value)
  // Escapes in a JSON text that is one string could hide what the tool reads.
  return (value) => {
    const fit = whole(value)
    const decoded = fit === NO ? decodedString(value) : undefined
    return decoded === undefined || whole(decoded) === NO ? fit : UNKNOWN
  }
}

/** The conditions of a predicate by name. A plain value means `equals`. */
export function conditionsOf(
  predicate: Predicate,
): [name: ConditionName, operand: unknown, all: Conditions][] {
  const conditions: Conditions =
    typeof predicate === 'object' && predicate !== null ? predicate : { equals: predicate }
  return Object.entries(conditions)
    .filter(([name, operand]) => name !== 'ignoreCase' && operand !== undefined)
    .map(([name, operand]) => [name as ConditionName, operand, conditions])
}

export type ConditionName = Exclude<keyof Conditions, 'ignoreCase'>

const ifThere =
  (test: FitTest): FitTest =>
  (value) =>
    value === undefined ? NO : test(value)

/** For comparisons of texts, numbers and sizes, null also counts as missing. */
const ifGiven =
  (test: FitTest): FitTest =>
  (value) =>
    value === undefined || value === null ? NO : test(value)

function conditionTest(name: ConditionName, operand: unknown, all: Conditions): FitTest {
  const fold: (text: string) => string = all.ignoreCase
    ? (text) => text.toLowerCase()
    : (text) => text
  // If a text matches only by its appearance, the result is unknown.
  const text = (
    test: (text: string, operand: string) => boolean,
    trimmed: (operand: string) => string,
  ): FitTest => {
    const [exact, loose] = [fold(String(operand)), trimmed(plainly(String(operand)))]
    return ifGiven((value) => {
      const found = textOf(value)
      if (found === undefined) return UNKNOWN
      return test(fold(found), exact) ? YES : test(loosely(found), loose) ? UNKNOWN : NO
    })
  }
  const number = (test: (number: number | bigint) => boolean): FitTest =>
    ifGiven((value) => {
      // Compares a number. Numeric text can fail the test but not pass it; other values are
      // unknown.
      if (typeof value === 'bigint') return fitIf(test(value))
      if (typeof value === 'number') return Number.isNaN(value) ? UNKNOWN : fitIf(test(value))
      if (typeof value === 'string' && value.trim() !== '') {
        // Programs parse `1e3`, `0x10` and `1_000` differently.
        return /^[+-]?\d+(?:\.\d+)?$/.test(value.trim()) && !test(Number(value)) ? NO : UNKNOWN
      }
      return UNKNOWN
    })
  const size = (test: (size: number) => boolean): FitTest =>
    ifGiven((value) => {
      const found = sizeOf(value)
      if (found === undefined) return UNKNOWN
      // A tool may flatten nested lists.
      const flat = Array.isArray(value) ? value.flat(Infinity).length : found
      return test(found) === test(flat) ? fitIf(test(found)) : UNKNOWN
    })
  switch (name) {
    case 'equals':
      return ifThere(equalTest(operand, all.ignoreCase))
    case 'in': {
      const list = operand as readonly unknown[]
      const plain = new Set(list.filter((each) => typeof each !== 'object' || each === null))
      const tests = list.map((each) => equalTest(each, all.ignoreCase))
      return ifThere((value) => (plain.has(value) ? YES : most(tests, value)))
    }
    case 'not': {
      const test = compilePredicate(operand as Predicate)
      return (value) => (value === undefined ? UNKNOWN : notFit(test(value)))
    }
    case 'matches': {
      const pattern = new LinearPattern(operand as string, all.ignoreCase)
      const loose = new LinearPattern(operand as string, true)
      return ifGiven((value) => {
        const found = textOf(value)
        if (found === undefined || found.length > PATTERN_TEXT_LIMIT) return UNKNOWN
        return pattern.fit(found) || (loose.fit(loosely(found)) === NO ? NO : UNKNOWN)
      })
    }
    case 'startsWith':
      return text(
        (found, start) => found.startsWith(start),
        (start) => start.trimStart(),
      )
    case 'endsWith':
      return text((found, end) => found.endsWith(end), withoutEnd)
    case 'contains':
      return ifGiven(containsTest(operand, all.ignoreCase, fold))
    case 'over':
      return number((found) => found > (operand as number))
    case 'under':
      return number((found) => found < (operand as number))
    case 'atLeast':
      return number((found) => found >= (operand as number))
    case 'atMost':
      return number((found) => found <= (operand as number))
    case 'longerThan':
      return size((found) => found > (operand as number))
    case 'shorterThan':
      return size((found) => found < (operand as number))
    case 'exists':
      return (value) => fitIf((value !== undefined) === operand)
    case 'type': {
      const types = typeof operand === 'string' ? [operand] : (operand as readonly string[])
      return ifThere((value) => fitIf(types.some((type) => isType(value, type as ValueType))))
    }
    case 'anyOf': {
      const tests = (operand as readonly Predicate[]).map(compilePredicate)
      return (value) => most(tests, value)
    }
    case 'allOf': {
      const tests = (operand as readonly Predicate[]).map(compilePredicate)
      return (value) => least(tests, value)
    }
    case 'noneOf': {
      const tests = (operand as readonly Predicate[]).map(compilePredicate)
      return (value) => (value === undefined ? UNKNOWN : notFit(most(tests, value)))
    }
  }
}

function least(tests: readonly FitTest[], value: unknown): Fit {
  let found: Fit = YES
  for (const test of tests) {
    const fit = test(value)
    if (fit === NO) return NO
    if (fit < found) found = fit
  }
  return found
}

function most(tests: readonly FitTest[], value: unknown): Fit {
  let found: Fit = NO
  for (const test of tests) {
    const fit = test(value)
    if (fit === YES) return YES
    if (fit > found) found = fit
  }
  return found
}

function containsTest(
  operand: unknown,
  ignoreCase: boolean | undefined,
  fold: (text: string) => string,
): FitTest {
  const [part, loosePart] = [fold(String(operand)), plainly(String(operand))]
  const fitOf = (text: string): Fit =>
    fold(text).includes(part) ? YES : loosely(text).includes(loosePart) ? UNKNOWN : NO
  const equal = singleTest(operand, ignoreCase)
  const member = (each: unknown): Fit => {
    const fit = equal(each)
    if (fit !== NO) return fit
    const text = textOf(each)
    if (text !== undefined) return fitOf(text) === NO ? NO : UNKNOWN
    return inside(membersOf(each))
  }
  const inside = (members: Iterable<unknown>): Fit => {
    let found: Fit = NO
    for (const each of members) found = Math.max(found, member(each)) as Fit
    return found
  }
  return (value) => {
    if (Array.isArray(value) || value instanceof Set) return inside(value)
    const found = textOf(value)
    if (found === undefined) return inside(membersOf(value)) || UNKNOWN
    // Escapes in JSON could hide the text.
    const parsed = parsedText(found)
    return fitOf(found) || (parsed === UNREADABLE ? UNKNOWN : inside(membersOf(parsed)))
  }
}

/** The members of a list, object, map or set, including keys. */
function membersOf(value: unknown): Iterable<unknown> {
  if (typeof value !== 'object' || value === null) return []
  if (value instanceof Map) return [...(value as Map<unknown, unknown>)].flat()
  if (Array.isArray(value) || value instanceof Set) return value as Iterable<unknown>
  return [...Object.keys(value), ...(Object.values(value) as unknown[])]
}

/** A text by its appearance: without case, invisible characters, outer white space and final dots. */
const loosely = (text: string): string => withoutEnd(plainly(text)).trimStart()

/** Like `loosely`, but keeps both ends. Any white space becomes one space. */
function plainly(given: string): string {
  const text = withPlainHost(given)
  const plain = /^[\x20-\x7e]*$/.test(text)
    ? text
    : withoutBreaks(text)
        .normalize('NFKC')
        .replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, '')
        // Like a dot in a host name.
        .replaceAll('\u3002', '.')
  return plain.toLowerCase().replaceAll(/\s+/g, ' ')
}

/** Longer than any URL that servers accept. */
const URL_LENGTH_MAX = 65_536

/** A URL, or a host with percent-encoding, with the host that programs connect to. */
function withPlainHost(given: string): string {
  if (given.length > URL_LENGTH_MAX) return given
  const text = withoutBreaks(given)
  const [, before = '', host = '', after = ''] =
    /^(\s*[a-z][a-z\d+.-]*:[/\\]{2,}(?:[^/\\?#@]*@)?)([^/\\?#:@\s[\]]+)(.*)$/is.exec(text) ??
    (/^\s*[^\s/\\?#:@]*%[\da-f]{2}[^\s/\\?#:@]*$/i.test(text) ? ['', '', text.trim()] : [])
  const found = host === '' ? undefined : canonicalHost(host)
  return found === undefined ? given : `${before}${found.name}${after}`
}

/** URL parsers ignore tabs and line breaks. */
function withoutBreaks(text: string): string {
  const joined = text.replaceAll(/[\t\n\r]/g, '')
  return /^\s*[a-z][a-z\d+.-]*:[/\\]{2}\S*\s*$/i.test(joined) ? joined : text
}

const withoutEnd = (text: string): string => text.replace(/[\s.]+$/, '')

/** A value as text; undefined for collections. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString()
  if (value instanceof URL) return value.href
  return /^(?:number|bigint|boolean|symbol)$/.test(typeof value) ? String(value) : undefined
}

/** Number of characters, bytes or members. */
function sizeOf(value: unknown): number | undefined {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  if (value instanceof Uint8Array) return value.byteLength
  return value instanceof Set || value instanceof Map ? value.size : undefined
}

function isType(value: unknown, type: ValueType): boolean {
  switch (type) {
    case 'integer':
      return typeof value === 'bigint' || Number.isInteger(value)
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint'
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value) || value instanceof Set
    case 'date':
      return value instanceof Date
    case 'bytes':
      return value instanceof Uint8Array
    case 'object':
      return (
        typeof value === 'object' &&
        value !== null &&
        !(['array', 'date', 'bytes'] as const).some((other) => isType(value, other))
      )
    case 'string':
    case 'boolean':
      return typeof value === type
  }
}
