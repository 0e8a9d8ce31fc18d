import { fitIf, UNTOLD, type Fit } from './fit.js'
import { parsePattern, type PatternNode } from './parse-pattern.js'

/** Longer texts are not looked through: whether they match cannot be told. */
export const PATTERN_TEXT_LIMIT = 100_000

/** How long a pattern may become once its repeats are written out. */
const PROGRAM_LIMIT = 5_000

/**
 * A regular expression that takes time in proportion to the text, whatever the
 * pattern and the text: it follows all ways to match side by side instead of one after
 * the other. JavaScript's syntax with the flag `u`, without backreferences and lookaround.
 */
export class LinearPattern {
  readonly #program: Program
  readonly #current: Threads
  readonly #next: Threads

  constructor(source: string, ignoreCase = false) {
    this.#program = programOf(parsePattern(source, ignoreCase))
    this.#current = new Threads(this.#program.length)
    this.#next = new Threads(this.#program.length)
  }

  /** A `.` may or may not be meant for line breaks: where that decides, it cannot be told. */
  fit(text: string): Fit {
    const isFound = this.test(text, false)
    if (!/[\n\r\u2028\u2029]/.test(text)) return fitIf(isFound)
    return this.test(text, true) === isFound ? fitIf(isFound) : UNTOLD
  }

  /** Whether the pattern matches somewhere. */
  test(text: string, dotIsAll = false): boolean {
    const program = this.#program
    let current = this.#current
    let next = this.#next
    current.clear()
    for (let at = 0; ;) {
      if (current.add(program, 0, text, at)) return true
      if (at >= text.length) return false
      const code = text.codePointAt(at) ?? 0
      const after = at + (code > 0xffff ? 2 : 1)
      next.clear()
      for (let index = 0; index < current.size; index += 1) {
        const place = current.at(index)
        const step = program[place]
        if (
          step?.op === 'char' &&
          step.test(code, dotIsAll) &&
          next.add(program, place + 1, text, after)
        )
          return true
      }
      ;[current, next] = [next, current]
      at = after
    }
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

type Step =
  | { readonly op: 'char'; readonly test: (code: number, dotIsAll: boolean) => boolean }
  | { readonly op: 'split'; left: number; right: number }
  | { readonly op: 'assert'; readonly holds: (text: string, at: number) => boolean }
  | { readonly op: 'match' }

type Program = readonly Step[]

function programOf(node: PatternNode): Program {
  const program: Step[] = []
  const emit = (step: Step): number => {
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
        emit({ op: 'assert', holds: each.holds })
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

/** The places of a program that are tried at once, each at most once. */
class Threads {
  size = 0
  readonly #places: Int32Array
  readonly #marks: Int32Array
  readonly #stack: number[] = []
  #round = 0

  constructor(length: number) {
    this.#places = new Int32Array(length)
    this.#marks = new Int32Array(length)
  }

  clear(): void {
    this.size = 0
    this.#round += 1
  }

  at(index: number): number {
    return this.#places[index] ?? 0
  }

  /** Adds a place and all that can be reached from it without a character; true once that is the end. */
  add(program: Program, from: number, text: string, at: number): boolean {
    const stack = this.#stack
    stack.length = 0
    stack.push(from)
    for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
      if (this.#marks[place] === this.#round) continue
      this.#marks[place] = this.#round
      const step = program[place]
      if (step === undefined || step.op === 'match') return true
      if (step.op === 'char') {
        this.#places[this.size] = place
        this.size += 1
      } else if (step.op === 'split') {
        stack.push(step.right)
        if (step.left !== step.right) stack.push(step.left)
      } else if (step.holds(text, at)) stack.push(place + 1)
    }
    return false
  }
}
