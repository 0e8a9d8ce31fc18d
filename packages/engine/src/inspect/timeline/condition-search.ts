import type { Evaluation } from '../probe-thread.js'
import type { NotFound } from './position.js'
import type { ActiveProbe } from './active-probe.js'

/** A condition at one moment; what it threw counts as false. */
interface Result {
  readonly isTrue: boolean
  readonly message?: string
}

const CONDITIONS_MAX = 50

/**
 * Finds moments at which a condition is true. What a condition came to is remembered:
 * a replay is always the same, so it never gets old.
 */
export class ConditionSearch {
  readonly #active: ActiveProbe
  readonly #memory = new Map<string, Map<number, Result>>()

  constructor(active: ActiveProbe) {
    this.#active = active
  }

  /** The first one from `from` on, before `end`. */
  async forward(condition: string, from: number, end: number): Promise<number | NotFound> {
    const results = this.#resultsOf(condition)
    for (let index = from; index < end; index++)
      if ((await this.#test(condition, index, results)).isTrue) return index
    return notFound(condition, results, from, end)
  }

  /** The last one before `end`: stretch by stretch, each forward from the keyframe before it. */
  async backward(condition: string, end: number): Promise<number | NotFound> {
    const results = this.#resultsOf(condition)
    for (let last = end - 1; last >= 0;) {
      const first = this.#active.nearestIndex(last) ?? 0
      for (let index = first; index <= last; index++) await this.#test(condition, index, results)
      for (let index = last; index >= first; index--) if (results.get(index)?.isTrue) return index
      last = first - 1
    }
    return notFound(condition, results, 0, end)
  }

  async #test(condition: string, index: number, results: Map<number, Result>): Promise<Result> {
    const known = results.get(index)
    if (known) return known
    const stop = await this.#active.stopAt(index)
    const result =
      stop.kind === 'ended'
        ? { isTrue: false }
        : resultOf(await this.#active.evaluate(`!!(${condition}\n)`))
    results.set(index, result)
    return result
  }

  #resultsOf(condition: string): Map<number, Result> {
    const results = this.#memory.get(condition) ?? new Map<number, Result>()
    // Last used, last forgotten.
    this.#memory.delete(condition)
    this.#memory.set(condition, results)
    const [oldest = condition] = this.#memory.keys()
    if (this.#memory.size > CONDITIONS_MAX) this.#memory.delete(oldest)
    return results
  }
}

const resultOf = (evaluation: Evaluation): Result =>
  evaluation.ok
    ? { isTrue: evaluation.value.json === true }
    : { isTrue: false, message: evaluation.message }

function notFound(
  condition: string,
  results: ReadonlyMap<number, Result>,
  from: number,
  end: number,
): NotFound {
  const seen = [...results].filter(([index]) => index >= from && index < end)
  const messages = seen.map(([, { message }]) => message).filter((text) => text !== undefined)
  const message = messages.at(-1)
  return {
    kind: 'not found',
    condition,
    steps: seen.length,
    failed: messages.length,
    ...(message !== undefined && { message }),
  }
}
