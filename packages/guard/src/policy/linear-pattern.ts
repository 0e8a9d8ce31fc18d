import { type Fit, fitIf, UNKNOWN } from './fit.js'

type PatternStep =
  | { readonly op: 'char'; readonly test: (code: number, dotIsAll: boolean) => boolean }
  | { readonly op: 'split'; left: number; right: number }
  | { readonly op: 'assert'; readonly where: Anchor }
  | { readonly op: 'match' }

type Program = readonly PatternStep[]

/** All steps of a program that may come next. */
interface State {
  readonly positions: readonly number[]
  readonly isMatch: boolean
  /** The state after a character; the first 128 characters are remembered. */
  readonly after: (State | undefined)[]
  isMatchAtEnd: boolean | undefined
  /** Nothing was read yet. */
  readonly isStart: boolean
  /** The character before was one of a word. */
  readonly afterWord: boolean
}

/** How many states are remembered; then it starts over. */
const STATE_LIMIT = 500
const ASCII = 128
const MATCHED: State = {
  positions: [],
  isStart: false,
  isMatch: true,
  after: [],
  isMatchAtEnd: true,
  afterWord: false,
}

/**
 * Runs a program over a text, one step for each character: a state is the set of all positions
 * that the text so far can have led to. States are made when they are first met.
 *
 * Where the text starts is known when a state is made; positions that depend on what follows
 * (the end, the edge of a word) stay in the state until the next character is known.
 */
class PatternMachine {
  readonly #states = new Map<string, State>()
  #first: State
  readonly #marks: Int32Array
  #round = 0

  constructor(
    readonly program: Program,
    readonly dotIsAll: boolean,
  ) {
    this.#marks = new Int32Array(program.length)
    this.#first = this.#stateOf([0], true, false)
  }

  /** True if it matches somewhere. */
  test(text: string): boolean {
    let state = this.#first
    for (let at = 0; at < text.length;) {
      if (state.positions.length === 0) return state.isMatch
      const unit = text.charCodeAt(at)
      if (unit < ASCII) {
        state = state.after[unit] ?? this.#step(state, unit)
        at += 1
      } else {
        const code = text.codePointAt(at) ?? unit
        state = this.#step(state, code)
        at += code > 0xff_ff ? 2 : 1
      }
    }
    return state.isMatch || (state.isMatchAtEnd ??= this.#matchesAtEnd(state))
  }

  #step(state: State, code: number): State {
    const isWord = isWordCode(code)
    const next: number[] = []
    const { positions, isStart, afterWord } = state
    const open = this.#open(positions, { isStart, isEnd: false, edge: afterWord !== isWord })
    if (open === undefined) return this.#remember(state, code, MATCHED)
    for (const position of open) {
      const step = this.program[position]
      if (step?.op === 'char' && step.test(code, this.dotIsAll)) next.push(position + 1)
    }
    // It may also begin here.
    next.push(0)
    return this.#remember(state, code, this.#stateOf(next, false, isWord))
  }

  #remember(state: State, code: number, after: State): State {
    if (code < ASCII) state.after[code] = after
    return after
  }

  #matchesAtEnd({ positions, isStart, afterWord }: State): boolean {
    return this.#open(positions, { isStart, isEnd: true, edge: afterWord }) === undefined
  }

  #stateOf(positions: readonly number[], isStart: boolean, afterWord: boolean): State {
    const reached = this.#open(positions, { isStart })
    if (reached === undefined) return MATCHED
    const sorted = reached.toSorted((left, right) => left - right)
    const key = `${isStart ? '^' : ''}${afterWord ? 'w' : ''}${sorted.join()}`
    const known = this.#states.get(key)
    if (known !== undefined) return known
    if (this.#states.size >= STATE_LIMIT) {
      this.#states.clear()
      this.#first = this.#stateOf([0], true, false)
    }
    const state: State = {
      positions: sorted,
      isStart,
      isMatch: false,
      after: [],
      isMatchAtEnd: undefined,
      afterWord,
    }
    this.#states.set(key, state)
    return state
  }

  /**
   * All positions that can be reached from these without a character; undefined once that is the end
   * of the program. What cannot be decided yet stays as it is.
   */
  #open(
    from: readonly number[],
    around: { readonly isStart: boolean; readonly isEnd?: boolean; readonly edge?: boolean },
  ): number[] | undefined {
    this.#round += 1
    const reached: number[] = []
    const stack = [...from]
    for (let position = stack.pop(); position !== undefined; position = stack.pop()) {
      if (this.#marks[position] === this.#round) continue
      this.#marks[position] = this.#round
      const step = this.program[position]
      if (step === undefined || step.op === 'match') return undefined
      if (step.op === 'char') reached.push(position)
      else if (step.op === 'split') stack.push(step.right, step.left)
      else {
        const matched = matchesAt(step.where, around)
        if (matched === undefined) reached.push(position)
        else if (matched) stack.push(position + 1)
      }
    }
    return reached
  }
}

/** Undefined while it is not known. */
function matchesAt(
  where: Anchor,
  { isStart, isEnd, edge }: { isStart: boolean; isEnd?: boolean; edge?: boolean },
): boolean | undefined {
  switch (where) {
    case 'start':
      return isStart
    case 'end':
      return isEnd
    case 'edge':
      return edge
    case 'no edge':
      return edge === undefined ? undefined : !edge
  }
}

const isWordCode = (code: number): boolean =>
  (code >= 48 && code <= 57) ||
  (code >= 65 && code <= 90) ||
  code === 95 ||
  (code >= 97 && code <= 122)

/** An anchor between characters: start or end of the text, edge of a word or not. */
export type Anchor = 'start' | 'end' | 'edge' | 'no edge'

/** A regular expression, taken apart. */
type PatternNode =
  | { readonly kind: 'char'; readonly test: (code: number, dotIsAll: boolean) => boolean }
  | { readonly kind: 'assert'; readonly where: Anchor }
  | { readonly kind: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly items: readonly PatternNode[] }
  | {
      readonly kind: 'repeat'
      readonly item: PatternNode
      readonly min: number
      readonly max: number
    }

/** Throws an error that says what is wrong with it. Syntax is checked by JavaScript itself first. */
function parsePattern(source: string, ignoreCase: boolean): PatternNode {
  const flags = ignoreCase ? 'iu' : 'u'
  try {
    void new RegExp(source, flags)
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace(/^.*\/[a-z]*: /s, '') : 'It is none'
    throw new Error(`${reason}.`, { cause: error })
  }
  return new PatternParser(source, flags).parse()
}

class PatternParser {
  #at = 0

  constructor(
    readonly source: string,
    readonly flags: string,
  ) {}

  parse(): PatternNode {
    return this.#choice()
  }

  #choice(): PatternNode {
    const items = [this.#sequence()]
    while (this.#eat('|')) items.push(this.#sequence())
    return items.length === 1 ? (items[0] as PatternNode) : { kind: 'choice', items }
  }

  #sequence(): PatternNode {
    const items: PatternNode[] = []
    while (this.#at < this.source.length && !'|)'.includes(this.source.charAt(this.#at)))
      items.push(this.#quantified(this.#atom()))
    return { kind: 'sequence', items }
  }

  #quantified(item: PatternNode): PatternNode {
    const found = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(
      this.source.slice(this.#at, this.#at + 40),
    )
    if (found === null) return item
    this.#at += found[0].length
    const [text, from, comma, to] = found
    if (from === undefined) {
      const sign = text.charAt(0)
      return {
        kind: 'repeat',
        item,
        min: sign === '+' ? 1 : 0,
        max: sign === '?' ? 1 : Infinity,
      }
    }
    const min = Number(from)
    return {
      kind: 'repeat',
      item,
      min,
      max: comma === '' ? min : to === '' ? Infinity : Number(to),
    }
  }

  #atom(): PatternNode {
    const start = this.#at
    const char = String.fromCodePoint(this.source.codePointAt(start) ?? 0)
    this.#at += char.length
    switch (char) {
      case '^':
        return { kind: 'assert', where: 'start' }
      case '$':
        return { kind: 'assert', where: 'end' }
      case '.':
        return {
          kind: 'char',
          test: (code, dotIsAll) =>
            dotIsAll || !(code === 10 || code === 13 || code === 0x2028 || code === 0x2029),
        }
      case '(':
        return this.#group()
      case '[': {
        for (; this.source.charAt(this.#at) !== ']'; this.#at += 1)
          if (this.source.charAt(this.#at) === '\\') this.#at += 1
        this.#at += 1
        return this.#oneOf(this.source.slice(start, this.#at))
      }
      case '\\':
        return this.#escape(start)
      default:
        return this.#oneOf(char)
    }
  }

  #group(): PatternNode {
    if (/^\?<?[=!]/.test(this.source.slice(this.#at, this.#at + 3)))
      throw new Error('It looks ahead or behind, which can take for ever.')
    const open = /^\?(?::|<[^>]*>)/.exec(this.source.slice(this.#at))
    if (open !== null) this.#at += open[0].length
    else if (this.source.charAt(this.#at) === '?')
      throw new Error('It sets flags for a group; write ignoreCase: true beside it.')
    const inside = this.#choice()
    this.#at += 1
    return inside
  }

  #escape(start: number): PatternNode {
    const rest = this.source.slice(start)
    if (/^\\(?:[1-9]|k<)/.test(rest))
      throw new Error('It refers back to a group, which can take for ever.')
    const isBoundary = /^\\[bB]/.exec(rest)
    if (isBoundary !== null) {
      this.#at = start + 2
      return { kind: 'assert', where: rest.charAt(1) === 'b' ? 'edge' : 'no edge' }
    }
    const long =
      /^\\(?:u\{[^}]*\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|[pP]\{[^}]*\}|c[a-zA-Z])/.exec(
        rest,
      )
    const text = long?.[0] ?? rest.slice(0, 2)
    this.#at = start + text.length
    return this.#oneOf(text)
  }

  /** A part of the source that stands for one character; JavaScript says for which. */
  #oneOf(part: string): PatternNode {
    if (!part.startsWith('\\') && !part.startsWith('[') && !this.flags.includes('i')) {
      const only = part.codePointAt(0)
      return { kind: 'char', test: (code) => code === only }
    }
    const native = new RegExp(`^(?:${part})$`, this.flags)
    const known = Array.from({ length: 128 }, (_, code) => native.test(String.fromCodePoint(code)))
    return {
      kind: 'char',
      test: (code) => (code < 128 ? known[code] === true : native.test(String.fromCodePoint(code))),
    }
  }

  #eat(char: string): boolean {
    if (this.source.charAt(this.#at) !== char) return false
    this.#at += 1
    return true
  }
}

/** Longer texts are not searched: their result is unknown. */
export const PATTERN_TEXT_LIMIT = 100_000

/** How long a pattern may become once its repeats are written out. */
const PROGRAM_LIMIT = 5_000

/**
 * A regular expression that takes time in proportion to the text, whatever the
 * pattern and the text: it follows all ways to match side by side instead of one after
 * the other. JavaScript's syntax with the flag `u`, without backreferences and lookaround.
 */
export class LinearPattern {
  readonly #oneLine: PatternMachine
  readonly #manyLines: PatternMachine
  readonly #hasDot: boolean

  constructor(source: string, ignoreCase = false) {
    this.#hasDot = source.includes('.')
    const program = programOf(parsePattern(source, ignoreCase))
    this.#oneLine = new PatternMachine(program, false)
    this.#manyLines = new PatternMachine(program, true)
  }

  /** A `.` may or may not be meant for line breaks: if that matters, the result is unknown. */
  fit(text: string): Fit {
    const isFound = this.#oneLine.test(text)
    if (!this.#hasDot || !/[\n\r\u2028\u2029]/.test(text)) return fitIf(isFound)
    return this.#manyLines.test(text) === isFound ? fitIf(isFound) : UNKNOWN
  }

  /** True if the pattern matches somewhere, as JavaScript sees it. */
  test(text: string): boolean {
    return this.#oneLine.test(text)
  }
}

/** Why a pattern cannot be used, if it cannot. */
export function patternProblem(source: string): string | undefined {
  try {
    programOf(parsePattern(source, false))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function programOf(node: PatternNode): Program {
  const program: PatternStep[] = []
  const emit = (step: PatternStep): number => {
    if (program.length >= PROGRAM_LIMIT)
      throw new Error('It is too long, with its repeats written out.')
    return program.push(step) - 1
  }
  const split = (): { op: 'split'; left: number; right: number } => {
    const step = { op: 'split' as const, left: program.length + 1, right: -1 }
    emit(step)
    return step
  }
  const write = (each: PatternNode): void => {
    switch (each.kind) {
      case 'char':
        emit({ op: 'char', test: each.test })
        return
      case 'assert':
        emit({ op: 'assert', where: each.where })
        return
      case 'sequence':
        for (const item of each.items) write(item)
        return
      case 'choice': {
        const ends: { left: number; right: number }[] = []
        for (const [index, item] of each.items.entries()) {
          const isLast = index === each.items.length - 1
          const fork = isLast ? undefined : split()
          write(item)
          if (fork !== undefined) {
            ends.push(split())
            fork.right = program.length
          }
        }
        for (const end of ends) end.left = end.right = program.length
        return
      }
      case 'repeat': {
        for (let count = 0; count < each.min; count += 1) write(each.item)
        if (each.max === Infinity) {
          const fork = split()
          const start = program.length - 1
          write(each.item)
          const back = split()
          back.left = back.right = start
          fork.right = program.length
          return
        }
        const forks: { right: number }[] = []
        for (let count = each.min; count < each.max; count += 1) {
          forks.push(split())
          write(each.item)
        }
        for (const fork of forks) fork.right = program.length
      }
    }
  }
  write(node)
  emit({ op: 'match' })
  return program
}
