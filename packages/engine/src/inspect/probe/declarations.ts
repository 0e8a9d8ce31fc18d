interface Token {
  readonly text: string
  readonly end: number
  /** True if a line break separates it from the previous token. */
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

/** Words after which a slash begins a regular expression and an expression continues. */
const OPERATOR_WORDS = new Set(
  'await case delete do else extends in instanceof new of return throw typeof void yield'.split(
    ' ',
  ),
)

/** True if an expression may end with this token, so that an operator or `(` continues it. */
const endsOperand = ({ text }: Token): boolean =>
  !OPERATOR_WORDS.has(text) && /^(?:[)\]}"'`]|\+\+|--|[#\p{ID_Start}$_\\\d]|\.\d|\/.)/u.test(text)

/** True if the token continues an expression that could end before it. */
const continuesOperand = ({ text }: Token): boolean =>
  text === 'in' ||
  text === 'instanceof' ||
  (!/^(?:\+\+|--|[)\]}{;"'#@!~]|[\p{ID_Start}$_\\\d]|\.\d|\.\.\.)/u.test(text) &&
    !/^\/./.test(text)) ||
  /^(?:\/=?|!==?)$/.test(text)

/**
 * Splits JavaScript into tokens from an offset on. A template is one token with everything inside
 * it. Not a parser: a slash after `)` or `}` is ambiguous and always treated as a division.
 */
function* tokensOf(source: string, from = 0): Generator<Token, undefined> {
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
    const token: Token = { text: source.slice(at, end), end, isOnNewLine }
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

/** A `const`, `let` or `class` of a scope. */
export interface Declaration {
  readonly name: string
  /** Code before this offset runs before the variable has a value. */
  readonly readyAt: number
}

export type ScopeKind = 'block' | 'function' | 'file'

const OPENING = new Set(['(', '[', '{'])
const CLOSING = new Set([')', ']', '}'])

/**
 * The variables that a scope itself declares, excluding blocks and functions inside it. `from` is
 * where the scope starts for V8: at the brace of a block, at the parameters of a function, or
 * inside the head of a loop.
 */
export function declarationsIn(source: string, kind: ScopeKind, from: number): Declaration[] {
  const tokens = new TokenReader(source, from)
  if (kind === 'file') return statements(tokens)
  if (kind === 'function' && !enterBody(tokens)) return []
  const opening = tokens.take()?.text
  if (opening === '{') return statements(tokens)
  return opening === '(' ? loopHead(tokens) : []
}

class TokenReader {
  before: Token | undefined
  next: Token | undefined
  readonly #tokens: Iterator<Token, undefined>

  constructor(source: string, from: number) {
    this.#tokens = tokensOf(source, from)
    this.next = this.#read()
  }

  take(): Token | undefined {
    this.before = this.next
    this.next = this.#read()
    return this.before
  }

  /** Consumes a bracket with its content, or one token. */
  takeGroup(): void {
    let depth = 0
    do {
      const { text } = this.take() ?? { text: '' }
      if (OPENING.has(text)) depth += 1
      if (CLOSING.has(text)) depth -= 1
    } while (depth > 0 && this.next !== undefined)
  }

  #read(): Token | undefined {
    return this.#tokens.next().value
  }
}

/** Advances to the brace of a function's body; false if there is none. */
function enterBody(tokens: TokenReader): boolean {
  for (;;) {
    const { next, before } = tokens
    if (next === undefined || CLOSING.has(next.text)) return false
    if (before?.text === '=>') return next.text === '{'
    if (before?.text === ')' && next.text === '{') return true
    tokens.takeGroup()
  }
}

function statements(tokens: TokenReader): Declaration[] {
  const found: Declaration[] = []
  for (;;) {
    const { next, before } = tokens
    if (next === undefined || CLOSING.has(next.text)) return found
    if (
      next.text === 'class' &&
      (before === undefined ||
        /^(?:[;{}:]|export|default)$/.test(before.text) ||
        (next.isOnNewLine && endsOperand(before)))
    ) {
      tokens.take()
      const name = tokens.next?.text ?? ''
      while (tokens.next !== undefined && tokens.next.text !== '{') tokens.takeGroup()
      tokens.takeGroup()
      found.push({ name, readyAt: tokens.before?.end ?? Infinity })
    } else if ((next.text === 'const' || next.text === 'let') && before?.text !== '.') {
      tokens.take()
      if (startsPattern(tokens.next)) found.push(...declarators(tokens))
    } else tokens.takeGroup()
  }
}

const startsPattern = (token: Token | undefined): boolean =>
  token !== undefined &&
  token.text !== 'in' &&
  token.text !== 'of' &&
  /^[{[\p{ID_Start}$_\\]/u.test(token.text)

/** `a = 1, { b, c: [d] } = f()`, up to the end of the statement. */
function declarators(tokens: TokenReader, first = patternNames(tokens)): Declaration[] {
  const found: Declaration[] = []
  let names = first
  for (;;) {
    while (!endsDeclarator(tokens)) tokens.takeGroup()
    const readyAt = tokens.before?.end ?? Infinity
    found.push(...names.map((name) => ({ name, readyAt })))
    if (tokens.next?.text !== ',') return found
    tokens.take()
    names = patternNames(tokens)
  }
}

function endsDeclarator({ next, before }: TokenReader): boolean {
  if (next === undefined || CLOSING.has(next.text)) return true
  if (next.text === ',' || next.text === ';') return true
  if (!next.isOnNewLine || before === undefined) return false
  return endsOperand(before) && !continuesOperand(next)
}

/** A variable of `for (const x of …)` has its value at the end of the head. */
function loopHead(tokens: TokenReader): Declaration[] {
  const { text } = tokens.take() ?? {}
  if (text !== 'const' && text !== 'let') return []
  const names = patternNames(tokens)
  const word = tokens.next?.text
  if (word !== 'of' && word !== 'in') return declarators(tokens, names)
  while (tokens.next !== undefined && !CLOSING.has(tokens.next.text)) tokens.takeGroup()
  const readyAt = tokens.next?.end ?? Infinity
  return names.map((name) => ({ name, readyAt }))
}

/** Names bound by a pattern, without keys and default values. */
function patternNames(tokens: TokenReader): string[] {
  const first = tokens.take()?.text ?? ''
  if (first !== '{' && first !== '[') return [first]
  const names: string[] = []
  for (;;) {
    const { next, before } = tokens
    if (next === undefined) return names
    const isComputedKey = first === '{' && next.text === '[' && before?.text !== ':'
    if (CLOSING.has(next.text)) {
      tokens.take()
      return names
    }
    if (isComputedKey) tokens.takeGroup()
    else if (next.text === '{' || next.text === '[') names.push(...patternNames(tokens))
    else if (next.text === '=') {
      while (
        tokens.next !== undefined &&
        tokens.next.text !== ',' &&
        !CLOSING.has(tokens.next.text)
      )
        tokens.takeGroup()
    } else {
      tokens.take()
      const isKey = first === '{' && tokens.next?.text === ':'
      if (!isKey && /^[\p{ID_Start}$_\\]/u.test(next.text)) names.push(next.text)
    }
  }
}
