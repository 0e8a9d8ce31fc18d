import { diffRuns } from '@retake/diagnose'
import type { FreeAnswer } from '@retake/engine'
import type { Step, Tape } from '@retake/tape'
import { viewRun } from '../../view-run.js'
import { answerOf, DoesNotFit } from './build-answer.js'

/**
 * Answers of another run of the same agent, by the steps of this one. Which step is
 * which, their difference tells: kind and name agree, and what stands around them.
 */
export class SiblingAnswers {
  readonly #sibling: Tape
  /** By label here, the label there; steps that do not differ are not in it. */
  readonly #differing = new Map<string, string>()
  readonly #missing = new Set<string>()
  readonly #name: string

  constructor(tape: Tape, sibling: Tape) {
    this.#sibling = sibling
    this.#name = sibling.run.id
    for (const { change, a, b } of diffRuns(viewRun(tape), viewRun(sibling)).steps) {
      if (a !== undefined && b !== undefined) this.#differing.set(a.label, b.label)
      else if (change === 'removed' && a !== undefined) this.#missing.add(a.label)
    }
  }

  /** How the other run answered this step. Throws `DoesNotFit` when it did not, or no differently. */
  answer(step: Step): FreeAnswer {
    if (this.#missing.has(step.label)) throw new DoesNotFit(`run ${this.#name} has no such step`)
    const label = this.#differing.get(step.label)
    const there = label === undefined ? undefined : viewRun(this.#sibling).step(label)
    if (there === undefined || there.kind !== step.kind || there.toolName !== step.toolName)
      throw new DoesNotFit(`run ${this.#name} has the same there`)
    return answerOf(this.#sibling, there)
  }
}
