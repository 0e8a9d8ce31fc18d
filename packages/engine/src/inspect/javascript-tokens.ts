/** A word, number, text or sign of JavaScript source, between two offsets. */
export interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
  /** A line break lies between it and the token before it. */
  readonly isOnNewLine: boolean
}

const SPACE = /\s+/y
const LINE_COMMENT = /\/\/[^\n\r\u2028\u2029]*/y
const BLOCK_COMMENT = /\/\*[^]*?\*\//y
const WORD = /[#\p{ID_Start}$_\\](?:[\p{ID_Continue}$\\]|\u200C|\u200D)*/uy
const NUMBER = /\.?\d(?:[eE][+-]|[\w.])*/y
const STRING = /"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'/y
const REGEXP = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
const SIGN =
  /=>|\?\.(?!\d)|\.\.\.|\+\+|--|(?:\*\*|&&|\|\||\?\?|<<|>>>?|[=!]==?|[-+*/%&|^<>])=?|[^]/y

/** Words after which a slash begins a regular expression, and an expression continues. */
const OPERATOR_WORDS = new Set(
  'await case delete do else extends in instanceof new of return throw typeof void yield'.split(
    ' ',
  ),
)

/** True if an expression may end with this token: an operator or `(` after it continues it. */
export const endsOperand = ({ text }: Token): boolean =>
  !OPERATOR_WORDS.has(text) && /^(?:[)\]}"'`]|\+\+|--|[#\p{ID_Start}$_\\\d]|\.\d|\/.)/u.test(text)

/** True if the token continues an expression that could end before it. */
export const continuesOperand = ({ text }: Token): boolean =>
  text === 'in' ||
  text === 'instanceof' ||
  (!/^(?:\+\+|--|[)\]}{;"'#@!~]|[\p{ID_Start}$_\\\d]|\.\d|\.\.\.)/u.test(text) &&
    !/^\/./.test(text)) ||
  /^(?:\/=?|!==?)$/.test(text)

/**
 * Splits JavaScript into tokens from an offset on. A template is one token with all that
 * is inside it. Not a parser: a slash after `)` or `}` is ambiguous and is
 * always taken as a division.
 */
export function* tokensOf(source: string, from = 0): Generator<Token, undefined> {
  let at = from
  let before: Token | undefined
  let isOnNewLine = false
  const matched = (pattern: RegExp): number => {
    pattern.lastIndex = at
    return pattern.test(source) ? pattern.lastIndex : 0
  }
  while (at < source.length) {
    const blank = matched(SPACE) || matched(LINE_COMMENT) || matched(BLOCK_COMMENT)
    if (blank > 0) {
      isOnNewLine ||= /[\n\r\u2028\u2029]/.test(source.slice(at, blank))
      at = blank
      continue
    }
    const isRegExp = before === undefined || !endsOperand(before)
    const end =
      (source[at] === '`' ? endOfTemplate(source, at) : 0) ||
      matched(WORD) ||
      matched(NUMBER) ||
      matched(STRING) ||
      (isRegExp ? matched(REGEXP) : 0) ||
      matched(SIGN)
    const token: Token = { text: source.slice(at, end), start: at, end, isOnNewLine }
    yield token
    before = token
    isOnNewLine = false
    at = end
  }
  return undefined
}

function endOfTemplate(source: string, from: number): number {
  let at = from + 1
  while (at < source.length) {
    if (source[at] === '\\') at += 2
    else if (source[at] === '`') return at + 1
    else if (source.startsWith('${', at)) at = endOfSubstitution(source, at + 2)
    else at += 1
  }
  return source.length
}

function endOfSubstitution(source: string, from: number): number {
  let depth = 0
  for (const { text, end } of tokensOf(source, from)) {
    if (text === '{') depth += 1
    if (text === '}' && depth-- === 0) return end
  }
  return source.length
}
