import { answerPayload, decodeBody } from '@retake/tape'
import type { CallEvent, NewEvent, RequestEvent, Tape } from '@retake/tape'
import type { AnswerPart } from '../answers/answer-part.js'
import { errors } from '../errors.js'
import type { RetakeError } from '../errors.js'
import { outsideRuns } from '../scope.js'
import { freeParts } from './free-parts.js'
import type { FreeAnswer, KeptPlan, KeptReport, SimulatedStep, Simulator } from './kept-plan.js'
import { parsed } from './recorded-step.js'
import type { RecordedStep } from './recorded-step.js'
import type { StepMatcher } from './step-matcher.js'

export type StepEvent = NewEvent<RequestEvent | CallEvent>

/** Something the agent asks, and what in the recording it is. */
export interface AskedFree {
  readonly event: StepEvent
  /** Masked. */
  readonly body: Uint8Array
  readonly recorded: RecordedStep | undefined
}

export interface FreeStepsOptions {
  readonly tape: Tape
  readonly plan: KeptPlan
  readonly matcher: StepMatcher
  readonly simulator: Simulator | undefined
  readonly onBroken: (error: RetakeError) => void
}

/**
 * Answers free steps without asking: as the plan says, or as a simulator does. Where
 * neither can, the fork is broken: nothing is asked live in silence.
 */
export class FreeSteps {
  #broken: KeptReport['broken']

  constructor(readonly options: FreeStepsOptions) {}

  get broken(): KeptReport['broken'] {
    return this.#broken
  }

  get simulates(): boolean {
    return this.options.simulator !== undefined
  }

  /** What the plan gives, as the parts that reach the agent. */
  planned(asked: AskedFree): AnswerPart[] | undefined {
    const { recorded } = asked
    const answer = recorded && this.options.plan.answers?.[recorded.label]
    return answer && this.#given(asked, answer)
  }

  /** What the simulator says; undefined when it shall be asked live. */
  async simulated(asked: AskedFree): Promise<AnswerPart[] | undefined> {
    const { simulator } = this.options
    try {
      const answer = await outsideRuns(() => simulator?.(this.#described(asked)))
      return answer === undefined ? undefined : this.#given(asked, answer)
    } catch (cause) {
      this.#break(errors.simulatorFailed(nameOf(asked.event), cause))
      return []
    }
  }

  /** The same for a call that answers in the same breath. */
  simulatedNow(asked: AskedFree): AnswerPart[] | undefined {
    const { simulator } = this.options
    if (simulator === undefined) return undefined
    try {
      const answer = outsideRuns(() => simulator(this.#described(asked)))
      if (answer instanceof Promise)
        throw new Error('it answers later, and this call needs its answer at once')
      return answer && this.#given(asked, answer)
    } catch (cause) {
      throw this.#break(errors.simulatorFailed(nameOf(asked.event), cause))
    }
  }

  #given(asked: AskedFree, answer: FreeAnswer): AnswerPart[] {
    const like = asked.recorded ?? this.options.matcher.alike(asked)
    try {
      return freeParts(this.options.tape, answer, asked, like?.step)
    } catch (cause) {
      this.#break(errors.freeAnswerUnusable(nameOf(asked.event), cause))
      return []
    }
  }

  #described({ event, body, recorded }: AskedFree): SimulatedStep {
    const { tape, plan, matcher } = this.options
    const isFrozen = plan.mode === 'frozen' && recorded !== undefined
    const then = recorded && this.#answerOf(recorded)
    return {
      ...(recorded && { label: recorded.label }),
      kind: kindOf(event, recorded ?? matcher.alike({ event, body })),
      name: nameOf(event),
      request:
        (recorded && plan.questions?.[recorded.label]) ??
        (isFrozen ? requestOf(recorded.event, tape.body(recorded.seq)) : requestOf(event, body)),
      ...(then !== undefined && { recorded: then }),
      seed: plan.seed,
    }
  }

  #answerOf({ step }: RecordedStep): unknown {
    try {
      return answerPayload(this.options.tape, step).data
    } catch {
      return step.kind === 'process' ? step.call()?.result : undefined
    }
  }

  #break(error: RetakeError): RetakeError {
    const { code, what, why, fix } = error
    this.#broken ??= { code, what, why, fix }
    this.options.onBroken(error)
    return error
  }
}

const nameOf = (event: StepEvent): string => {
  if (event.type === 'request') return `${event.method} ${event.url}`
  return event.kind === 'process' ? (event.title ?? event.name) : event.name
}

function kindOf(event: StepEvent, like: RecordedStep | undefined): SimulatedStep['kind'] {
  if (event.type === 'call') return event.kind === 'process' ? 'process' : 'tool'
  const kind = like?.step.kind
  return kind === undefined || kind === 'mark' ? 'http' : kind
}

const requestOf = (event: StepEvent, body: Uint8Array): unknown =>
  event.type === 'call'
    ? decodeBody(event.as ?? 'json', body)
    : (parsed(body) ?? Buffer.from(body).toString('utf8'))
