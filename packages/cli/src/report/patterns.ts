import { keyShapes, maskKeys, type Tape } from '@retake/tape'
import { cliErrors } from '../errors.js'
import { project } from '../config/define-config.js'

/** Something that is not to be shown. */
export interface Pattern {
  /** Set for built-in patterns. Others stay private: their text may contain the value that they hide. */
  readonly name?: string
  readonly expression: RegExp
  /** Says no to what only looks like it. */
  readonly accepts?: (found: string) => boolean
}

/** Each starts at a boundary, so that long texts are scanned only once. */
export const BUILT_IN: Readonly<Record<string, Pattern>> = {
  email: {
    name: 'email',
    expression: /(?<![\w.%+-])[\w.%+-]{1,64}@(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?![a-z])/gi,
  },
  phone: {
    name: 'phone',
    expression:
      /(?<![\w+])(?:\+\d{1,3}[ .\-/]?(?:\(\d{1,5}\)|\d{1,5})(?:[ .\-/]?\d{2,5}){1,5}|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?![\w])/g,
    accepts: (found) => digitsOf(found).length >= 8 && digitsOf(found).length <= 15,
  },
  card: {
    name: 'card',
    expression: /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])/g,
    accepts: (found) => hasLuhnDigit(digitsOf(found)),
  },
  iban: {
    name: 'iban',
    expression:
      /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/g,
    accepts: (found) => hasIbanDigits(found.replaceAll(' ', '')),
  },
  ip: {
    name: 'ip',
    expression:
      /(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.])/g,
  },
  /** The part of a key after its prefix. */
  key: { name: 'key', expression: keyShapes() },
}

/** Reads patterns as a user writes them: the name of a built-in one, an expression, or `/expression/flags`. */
export const readPatterns = (given: readonly (string | RegExp)[]): Pattern[] =>
  given.map((each) => (typeof each === 'string' ? readPattern(each) : checked(each, String(each))))

function readPattern(text: string): Pattern {
  if (Object.hasOwn(BUILT_IN, text)) return BUILT_IN[text] as Pattern
  const [, source = text, flags = ''] = /^\/(.*)\/([a-z]*)$/s.exec(text) ?? []
  try {
    return checked(new RegExp(source, flags), text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw cliErrors.REDACT_PATTERN_INVALID(text, `${error.message}.`)
  }
}

function checked(expression: RegExp, text: string): Pattern {
  const flags = [...new Set(`${expression.flags.replace('y', '')}g`)].join('')
  const global = new RegExp(expression.source, flags)
  if (''.search(global) >= 0)
    throw cliErrors.REDACT_PATTERN_INVALID(
      text,
      'It also matches nothing at all, so it would match everywhere.',
    )
  return { expression: global }
}

const digitsOf = (text: string): string => text.replaceAll(/\D/g, '')

/** The check digit of payment cards. */
function hasLuhnDigit(digits: string): boolean {
  let sum = 0
  for (const [index, digit] of Array.from(digits).toReversed().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2)
    sum += value > 9 ? value - 9 : value
  }
  return sum % 10 === 0 && /[1-9]/.test(digits)
}

/** The check digits of ISO 13616. */
function hasIbanDigits(iban: string): boolean {
  let rest = 0
  for (const character of iban.slice(4) + iban.slice(0, 4))
    for (const digit of String(Number.parseInt(character, 36)))
      rest = (rest * 10 + Number(digit)) % 97
  return rest === 1
}

/**
 * Patterns of the project, those of the command line, and `key` if the tape contains
 * some: one of an older version, or with a key that was split over two chunks.
 */
export function givenPatterns(given: readonly string[], tape: Tape): Pattern[] {
  const patterns = readPatterns([...project().redact, ...given])
  const { key } = BUILT_IN
  return key === undefined || patterns.includes(key) || !containsKeys(tape)
    ? patterns
    : [...patterns, key]
}

function containsKeys(tape: Tape): boolean {
  for (const event of tape.events()) {
    const body = tape.body(event.seq)
    const text = JSON.stringify(event) + Buffer.from(body).toString('latin1')
    if (maskKeys(text) !== text) return true
  }
  return false
}
