import { keyShapes } from '@retake/tape'
import { cliErrors } from '../errors.js'
import { project } from '../config/define-config.js'

/** Something that is not to be shown. */
export interface Pattern {
  /** Set for built-in patterns. Others stay private: their text may contain the value that they hide. */
  readonly name?: string
  /** For messages. */
  readonly label?: string
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
    // Neither a moment in milliseconds nor one beside another number: groups have at most six digits.
    accepts: (found) =>
      hasLuhnDigit(digitsOf(found)) && !/^1\d{12}$|\d{7}.*[ -]|[ -].*\d{7}/.test(found),
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
  given.map((each, at) => ({
    label: `pattern ${at + 1}`,
    ...(typeof each === 'string' ? readPattern(each) : checked(each, String(each))),
  }))

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

/** Names of people: as they are listed, one on each line, and in capitals. */
export function readNames(text: string): Pattern[] {
  const listed = text.split(/\r?\n/).map((line) => line.trim())
  const names = listed.filter((line) => line.length > 1 && !line.startsWith('#'))
  if (names.length === 0) return []
  const any = [...new Set(names.flatMap((name) => [name, name.toUpperCase()]))]
    .toSorted((a, b) => b.length - a.length)
    .map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`))
    .join('|')
  const expression = new RegExp(String.raw`(?<![\p{L}\p{N}_])(?:${any})(?![\p{L}\p{N}_])`, 'gu')
  return [{ name: 'name', expression }]
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

/** The check digits of ISO 13616. */
const hasIbanDigits = (iban: string): boolean => ibanRest(iban) === 1

export function ibanRest(iban: string): number {
  let rest = 0
  for (const character of iban.slice(4) + iban.slice(0, 4))
    for (const digit of String(Number.parseInt(character, 36)))
      rest = (rest * 10 + Number(digit)) % 97
  return rest
}

/** Patterns of the project and of the command line. */
export const givenPatterns = (given: readonly string[]): Pattern[] =>
  readPatterns([...project().redact, ...given])
