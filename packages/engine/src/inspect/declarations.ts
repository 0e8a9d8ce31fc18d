import { continuesOperand, endsOperand, tokensOf } from './javascript-tokens.js'
import type { Token } from './javascript-tokens.js'

/** A `const`, `let` or `class` of a scope. */
export interface Declaration {
  readonly name: string
  /** Code at an offset before this one runs before the variable has its value. */
  readonly readyAt: number
}

export type ScopeKind = 'block' | 'function' | 'file'

const OPENING = new Set(['(', '[', '{'])
const CLOSING = new Set([')', ']', '}'])

/**
 * The variables that a scope declares itself, not in blocks or functions inside it.
 * `from` is where V8 says that the scope starts: at the brace of a block, at the
 * parameters of a function, or inside the head of a loop.
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
  #next: Token | undefined
  readonly #tokens: Iterator<Token, undefined>

  constructor(source: string, from: number) {
    this.#tokens = tokensOf(source, from)
    this.#next = this.#read()
  }

  get next(): Token | undefined {
    return this.#next
  }

  take(): Token | undefined {
    this.before = this.#next
    this.#next = this.#read()
    return this.before
  }

  /** Consumes a bracket with its content, or one token. */
  takeGroup(): void {
    let depth = 0
    do {
      const { text } = this.take() ?? { text: '' }
      if (OPENING.has(text)) depth += 1
      if (CLOSING.has(text)) depth -= 1
    } while (depth > 0 && this.#next !== undefined)
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
    if (next.text === 'class' && isStatementStart(before, next)) {
      tokens.take()
      found.push(...classNamed(tokens))
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

function isStatementStart(before: Token | undefined, token: Token): boolean {
  if (before === undefined || /^(?:[;{}:]|export|default)$/.test(before.text)) return true
  return token.isOnNewLine && endsOperand(before)
}

function classNamed(tokens: TokenReader): Declaration[] {
  const name = tokens.next?.text ?? ''
  while (tokens.next !== undefined && tokens.next.text !== '{') tokens.takeGroup()
  tokens.takeGroup()
  return [{ name, readyAt: tokens.before?.end ?? Infinity }]
}

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

/** A variable of `for (const x of …)` has its value when the head is over. */
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

/** Names that a pattern binds, without keys and default values. */
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
    else if (next.text === '=') skipDefault(tokens)
    else {
      tokens.take()
      const isKey = first === '{' && tokens.next?.text === ':'
      if (!isKey && /^[\p{ID_Start}$_\\]/u.test(next.text)) names.push(next.text)
    }
  }
}

function skipDefault(tokens: TokenReader): void {
  while (tokens.next !== undefined && tokens.next.text !== ',' && !CLOSING.has(tokens.next.text))
    tokens.takeGroup()
}
