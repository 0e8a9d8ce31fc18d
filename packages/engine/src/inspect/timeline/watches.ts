import type { Evaluation } from '../probe-thread.js'
import type { Watched } from './position.js'

/** Expressions that are shown at every stop, and what they came to at the last one. */
export class Watches {
  readonly #last = new Map<string, string | undefined>()

  add(expression: string): void {
    if (!this.#last.has(expression)) this.#last.set(expression, undefined)
  }

  remove(expression: string): boolean {
    return this.#last.delete(expression)
  }

  async read(evaluate: (expression: string) => Promise<Evaluation>): Promise<Watched[]> {
    const watches: Watched[] = []
    for (const expression of this.#last.keys())
      watches.push(this.#compare(expression, await evaluate(expression)))
    return watches
  }

  /** At the stop where it was added there is nothing to compare it with. */
  first(expression: string, evaluation: Evaluation): Watched {
    return { ...this.#compare(expression, evaluation), isChanged: false }
  }

  #compare(expression: string, evaluation: Evaluation): Watched {
    const before = this.#last.get(expression)
    const now = JSON.stringify(evaluation)
    this.#last.set(expression, now)
    return { expression, evaluation, isChanged: before !== undefined && before !== now }
  }
}
