import type { RecordedStep } from './recorded-step.js'
import type { StepCauses } from './step-causes.js'

/** Which recorded steps could come next, by what followed from what in the recording. */
export class StepOrder {
  readonly #bySeq: ReadonlyMap<number, RecordedStep>

  constructor(
    steps: readonly RecordedStep[],
    readonly causes: StepCauses,
    /** It was asked in the fork, and waits for its answer. */
    readonly isUnderWay: (step: RecordedStep) => boolean,
  ) {
    this.#bySeq = new Map(steps.map((step) => [step.seq, step]))
  }

  /** Those that follow from a step, the next ones of their lines. */
  nextOf(candidates: readonly RecordedStep[], after: RecordedStep | undefined): RecordedStep[] {
    if (after === undefined) return []
    return this.first(
      candidates.filter(
        ({ seq }) => this.causes.follows(seq, after.seq) || this.causes.isUnsure(seq),
      ),
    )
  }

  /** Without those that come after another of them. */
  first(candidates: readonly RecordedStep[]): RecordedStep[] {
    return candidates.filter(
      ({ seq }) =>
        !candidates.some((other) => other.seq < seq && this.causes.follows(seq, other.seq)),
    )
  }

  /**
   * Its own lane has not come so far: what it follows from is still being answered.
   * `isStrict`: or was not even asked.
   */
  isAhead({ seq }: RecordedStep, isStrict = false): boolean {
    for (let at = this.causes.causeOf(seq); at !== undefined; at = this.causes.causeOf(at)) {
      const step = this.#bySeq.get(at)
      if (step?.used === true) return this.isUnderWay(step)
      if (isStrict) return true
    }
    return false
  }

  /** It does not go on with the line of work of the step `after`. */
  isOther(found: RecordedStep, after: RecordedStep | undefined): boolean {
    if (after === undefined) return false
    const isNext = this.causes.follows(found.seq, after.seq)
    return !isNext || found.step.lane !== after.step.lane
  }
}
