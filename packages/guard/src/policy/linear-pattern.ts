import { fitIf, UNKNOWN, type Fit } from './fit.js'
import { PatternMachine, type Program, type PatternStep } from './pattern-machine.js'
import { parsePattern, type PatternNode } from './parse-pattern.js'

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
