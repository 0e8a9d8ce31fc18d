import type { MatchExcerpt, Occurrence } from './occurrence.js'

/** A match in some content, before it is known whose content it is. */
export interface Hit extends Pick<Occurrence, 'excerpt' | 'count'> {
  readonly path?: string
  readonly offset?: number
  /** The event, when the content came in several. */
  readonly seq?: number
  /** The text as a whole that the match stands in. */
  readonly whole?: string
}

const AROUND = 80

/** A match with a little of the text around it, cut at whole characters. */
export const excerptOf = (text: string, { index, length }: Match): MatchExcerpt => ({
  before: (index > AROUND ? '…' : '') + trimHalf(text.slice(Math.max(0, index - AROUND), index)),
  match: text.slice(index, index + length),
  after:
    trimHalf(text.slice(index + length, index + length + AROUND)) +
    (text.length > index + length + AROUND ? '…' : ''),
})

/** Without the half of a character that a cut left over. */
const trimHalf = (text: string): string =>
  text.replace(/^[\uDC00-\uDFFF\uFFFD]+|[\uD800-\uDBFF\uFFFD]+$/g, '')

/** Where something stands in a text. */
export interface Match {
  readonly index: number
  readonly length: number
}

/** Decides what counts as an occurrence. */
export interface Matcher {
  findIn(text: string): Match[]
  isNumber(value: number): boolean
  /** Looks in bytes given as one character each; `narrow` turns text into the same. */
  findInBytes?(bytes: string, narrow: (text: string) => string): Match[]
}

/** The most matches taken of one text; a letter may stand in it a million times. */
const MOST_MATCHES = 1000

/**
 * Finds a text as it is, or else the way JSON writes it: escaped once, escaped
 * with all that is not ASCII, or escaped twice; or what it says when it was
 * copied from JSON and is escaped itself. Digits are found as a whole
 * number: 60 does not stand in 1600.
 */
export class ExactMatcher implements Matcher {
  readonly #forms: readonly string[]
  readonly #number: number | undefined

  constructor(text: string) {
    const once = JSON.stringify(text).slice(1, -1)
    const ascii = once.replace(/[^\0-\u007F]/g, escapeUnit)
    const twice = JSON.stringify(once).slice(1, -1)
    this.#forms = [...new Set([text, once, ascii, twice, unescaped(text)])]
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
    while (index >= 0 && matches.length < MOST_MATCHES) {
      if (this.#number === undefined || standsAlone(text, index, length)) {
        matches.push({ index, length })
        index = text.indexOf(form, index + length)
      } else index = text.indexOf(form, index + 1)
    }
    return matches
  }
}

const unescaped = (text: string): string => {
  try {
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
  } catch {
    return text
  }
}

const escapeUnit = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Whether digits are not part of a longer number. */
const standsAlone = (text: string, index: number, length: number): boolean =>
  !/\d\.?$/.test(text.slice(Math.max(0, index - 2), index)) &&
  !/^\.?\d/.test(text.slice(index + length, index + length + 2))

/** Finds what a text may have been meant to be: other capitals, spaces or punctuation. */
export class NearMatcher implements Matcher {
  readonly #pattern: RegExp | undefined

  constructor(text: string) {
    const words = text.match(/\p{N}+|\p{L}+/gu) ?? []
    // A single character is near to everything.
    const isLong = words.join('').length > 1 && words.length <= 50
    this.#pattern = isLong ? new RegExp(words.join('[^\\p{L}\\p{N}]{0,8}'), 'giu') : undefined
  }

  findIn(text: string): Match[] {
    if (this.#pattern === undefined) return []
    return [...text.matchAll(this.#pattern)]
      .slice(0, MOST_MATCHES)
      .map(({ 0: { length }, index }) => ({ index, length }))
  }

  isNumber(): boolean {
    return false
  }
}
