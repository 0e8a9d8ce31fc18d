import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import { type Fit, fitIf, UNKNOWN } from './fit.js'

/** Longer texts are not searched, so their result is unknown. */
export const PATTERN_TEXT_LIMIT = 100_000

/** Loaded for the first pattern, because most programs have none. */
let engine: typeof RE2JS | undefined
const loadEngine = (): typeof RE2JS =>
  (engine ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS)

/**
 * A regular expression that runs in linear time. Uses JavaScript's syntax with the flag `u`, without
 * backreferences and lookaround.
 */
export class LinearPattern {
  readonly #oneLine: RE2JS
  /** Here `.` also matches a line break. Undefined if the pattern has no dot. */
  readonly #manyLines: RE2JS | undefined

  constructor(source: string, ignoreCase = false) {
    const re2 = loadEngine()
    const pattern = translated(source)
    const flags = ignoreCase ? re2.CASE_INSENSITIVE : 0
    try {
      this.#oneLine = re2.compile(pattern, flags)
      if (source.includes('.')) this.#manyLines = re2.compile(pattern, flags | re2.DOTALL)
    } catch (error) {
      const reason =
        error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : ''
      throw new Error(`It cannot be matched in linear time (${reason}).`, { cause: error })
    }
  }

  /** Unknown if the result depends on whether `.` matches a line break. */
  fit(text: string): Fit {
    const isFound = this.#oneLine.test(text)
    if (this.#manyLines === undefined || !BREAK.test(text)) return fitIf(isFound)
    const isSame =
      this.#manyLines.test(text) === isFound &&
      this.#oneLine.test(text.replaceAll(BREAKS, '\n')) === isFound
    return isSame ? fitIf(isFound) : UNKNOWN
  }

  test(text: string): boolean {
    return this.#oneLine.test(text)
  }
}

const BREAK = /[\n\r\u2028\u2029]/
const BREAKS = /[\r\u2028\u2029]/g

export function patternProblem(source: string): string | undefined {
  try {
    void new LinearPattern(source)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The white space that `\s` matches in JavaScript, as members of a character class. */
const SPACE = String.raw`\s\x0b\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

/** Parts of a pattern that JavaScript and RE2 read differently, or that are refused. */
const PARTS = /\(\?<?[=!]|\(\?[a-z-]+:|\\[1-9]|\\k<|\\[sS]|\\b|\\p\{(?:\w+=)(\w+)\}|\\[^]|[[\]]/gu

/** Translates a pattern to RE2. JavaScript checks its syntax first. */
function translated(source: string): string {
  try {
    void new RegExp(source, 'u')
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*\/[a-z]*: /s, '') : ''
    throw new Error(`${reason}.`, { cause: error })
  }
  let isClass = false
  const pattern = source.replaceAll(PARTS, (part: string, property?: string) => {
    if (part === '[' && !isClass) isClass = true
    else if (part === ']') isClass = false
    else if (property !== undefined) return String.raw`\p{${property}}`
    else if (part === String.raw`\s`) return isClass ? SPACE : `[${SPACE}]`
    else if (part === String.raw`\S` && !isClass) return `[^${SPACE}]`
    else if (part === String.raw`\b` && isClass) return String.raw`\x08`
    else if (isClass) return part
    else if (/^\(\?<?[=!]/.test(part))
      throw new Error('It looks ahead or behind, which can take forever.')
    else if (part.startsWith('(?'))
      throw new Error('It sets flags for a group; write ignoreCase: true beside it.')
    else if (/^\\(?:[1-9]|k<)/.test(part))
      throw new Error('It refers back to a group, which can take forever.')
    return part
  })
  return loadEngine().translateRegExp(pattern)
}
