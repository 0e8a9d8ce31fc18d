import type { InitiationEvent, NewEvent, Tape } from '@retake/tape'
import type { DrawnValues } from '../answers/drawn-values.js'
import { EMPTY } from '../sessions/session.js'
import type { NewDelivery, Operation, Session } from '../sessions/session.js'
import type { AskedFree, StepEvent } from './free-steps.js'
import type { KeptReport } from './kept-plan.js'
import type { RecordedStep } from './recorded-step.js'
import { StepCauses } from './step-causes.js'
import { StepMatcher } from './step-matcher.js'

export interface AskedStepsOptions {
  /** The first event that was not served. */
  readonly at: number
  readonly drawn: DrawnValues
  readonly session: () => Pick<Session, 'secrets'>
  readonly isHeld: (step: RecordedStep) => boolean
}

/**
 * Knows of everything that a fork asks which step of the recording it is, what it
 * follows from, and whether its answer has come. Keeps count for the report.
 */
export class AskedSteps {
  readonly matcher: StepMatcher
  readonly #matched: Record<string, number> = {}
  readonly #forced: string[] = []
  #unmatched = 0
  /** What follows from what in this run. */
  readonly #causes: StepCauses
  /** By event of this run, the recorded step that it matched. */
  readonly #matches = new Map<number, RecordedStep>()
  readonly #underWay = new Set<RecordedStep>()

  constructor(
    tape: Tape,
    steps: readonly RecordedStep[],
    readonly options: AskedStepsOptions,
  ) {
    const { at, drawn } = options
    this.#causes = StepCauses.of(tape, at)
    this.matcher = new StepMatcher(tape, steps, {
      causes: StepCauses.of(tape, tape.count),
      drawn,
      isUnderWay: (step) => this.#underWay.has(step),
    })
    for (const step of steps.filter(({ seq }) => seq < at)) {
      step.used = true
      this.#matches.set(step.seq, step)
      this.#matched[step.label] = step.seq
      if (step.parts.some((seq) => seq >= at)) this.#underWay.add(step)
    }
  }

  get report(): Pick<KeptReport, 'matched' | 'forced' | 'unmatched'> {
    return { matched: this.#matched, forced: this.#forced, unmatched: this.#unmatched }
  }

  started(op: number, event: NewEvent<InitiationEvent>): void {
    this.#causes.started(op, event)
  }

  /** The request that a connection carries now. */
  on(connection: number): number | undefined {
    return this.#causes.askedOn(connection)
  }

  /** Something is asked: finds the recorded step that it is, once. */
  match(seq: number, event: StepEvent, bytes: Uint8Array = EMPTY): AskedFree {
    const body = this.options.session().secrets.bytes(bytes)
    const known = this.#matches.get(seq)
    if (known !== undefined) return { event, body, recorded: known }
    const cause = this.#causes.causeOf(seq)
    const isAfterOther = cause !== undefined && !this.#matches.has(cause)
    const match = this.matcher.take({ event, body, after: this.#after(seq), isAfterOther })
    if (match === undefined) {
      this.#unmatched += 1
      return { event, body, recorded: undefined }
    }
    const { step, isSame } = match
    this.#matches.set(seq, step)
    this.#matched[step.label] = seq
    this.#underWay.add(step)
    if (!isSame && this.options.isHeld(step)) this.#forced.push(step.label)
    return { event, body, recorded: step }
  }

  /** A part of an answer reaches the agent. */
  delivered(operation: Operation, part: NewDelivery): void {
    this.#causes.delivered(operation.id)
    const step = this.#matches.get(this.#causes.askedOn(operation.id) ?? operation.id)
    if (step !== undefined && isLast(operation, part)) this.answered(step)
  }

  /** It has its answer in full. */
  answered(step: RecordedStep): void {
    this.#underWay.delete(step)
  }

  /** The nearest step that this follows from and that is one of the recording. */
  #after(seq: number): RecordedStep | undefined {
    let at = this.#causes.causeOf(seq)
    while (at !== undefined && !this.#matches.has(at)) at = this.#causes.causeOf(at)
    return at === undefined ? undefined : this.#matches.get(at)
  }
}

/** Whether an answer is complete with this part; one on a connection is taken to be with its first. */
function isLast({ action }: Operation, part: NewDelivery): boolean {
  if (action.event.type === 'socket' || part.type === 'result') return true
  if (part.type === 'response') return part.empty === true
  const isProcess = action.event.type === 'call'
  return part.part === 'close' || part.part === 'error' || (part.part === 'end' && !isProcess)
}
