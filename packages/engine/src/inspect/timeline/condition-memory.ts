import type { Evaluation } from '../probe-thread.js'

/** A condition at one moment; what it threw counts as false. */
export interface ConditionResult {
  readonly isTrue: boolean
  readonly message?: string
}

const CONDITIONS_MAX = 50

/** What conditions came to at which moments. A replay is always the same, so it never gets old. */
export class ConditionMemory {
  readonly #results = new Map<string, Map<number, ConditionResult>>()

  of(condition: string): Map<number, ConditionResult> {
    const known = this.#results.get(condition) ?? new Map<number, ConditionResult>()
    // Last used, last forgotten.
    this.#results.delete(condition)
    this.#results.set(condition, known)
    for (const oldest of this.#results.keys()) {
      if (this.#results.size <= CONDITIONS_MAX) break
      this.#results.delete(oldest)
    }
    return known
  }
}

export const conditionResult = (evaluation: Evaluation): ConditionResult =>
  evaluation.ok
    ? { isTrue: evaluation.value.json === true }
    : { isTrue: false, message: evaluation.message }
