import type { Anchor } from './parse-pattern.js'

export type PatternStep =
  | { readonly op: 'char'; readonly test: (code: number, dotIsAll: boolean) => boolean }
  | { readonly op: 'split'; left: number; right: number }
  | { readonly op: 'assert'; readonly where: Anchor }
  | { readonly op: 'match' }

export type Program = readonly PatternStep[]

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
export class PatternMachine {
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
