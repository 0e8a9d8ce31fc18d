import { decodeBody, encodeBody } from '@retake/tape'
import type { Tape } from '@retake/tape'
import type { Session } from '../sessions/session.js'
import type { KeptPlan } from './kept-plan.js'
import type { RecordedStep } from './recorded-step.js'

/** What a free step is asked when it is asked live: as the plan says, or as it was recorded, in the form in which it is asked. */
export class StepQuestions {
  constructor(
    readonly tape: Tape,
    readonly plan: KeptPlan,
    readonly session: () => Pick<Session, 'secrets'>,
  ) {}

  /** In place of what the agent asks; undefined where it shall ask that itself. */
  instead(step: RecordedStep): Uint8Array | undefined {
    return this.planned(step) ?? (this.plan.mode === 'frozen' ? this.#recorded(step) : undefined)
  }

  /** What the plan has a step asked. */
  planned({ event, label }: RecordedStep): Uint8Array | undefined {
    const question = this.plan.questions?.[label]
    if (question === undefined) return undefined
    return event.type === 'call'
      ? argumentsOf(question)
      : this.#revealed(Buffer.from(JSON.stringify(question)))
  }

  #recorded({ event, seq }: RecordedStep): Uint8Array | undefined {
    const body = this.tape.body(seq)
    if (event.type === 'call')
      return event.kind === 'tool' ? argumentsOf(decodeBody(event.as ?? 'json', body)) : undefined
    return body.length === 0 ? undefined : this.#revealed(body)
  }

  /** The tape has placeholders where the agent sent secrets. */
  #revealed(body: Uint8Array): Uint8Array {
    const text = Buffer.from(body).toString('latin1')
    const revealed = this.session().secrets.reveal(text)
    return revealed === text ? body : Buffer.from(revealed, 'latin1')
  }
}

/** Calls are asked by a list. */
const argumentsOf = (question: unknown): Uint8Array =>
  encodeBody(Array.isArray(question) ? question : [question]).body
