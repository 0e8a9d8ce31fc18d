import type { Tape } from '@retake/tape'
import type { DrawnValues } from '../answers/drawn-values.js'
import type { StepEvent } from './free-steps.js'
import { conversationOf } from './recorded-step.js'
import type { Conversation, RecordedStep } from './recorded-step.js'

/**
 * What is asked, now and in the recording, without values that came by chance or from
 * a clock: as text, and as the conversation in it.
 */
export class QuestionTexts {
  readonly #texts = new Map<RecordedStep, string>()
  readonly #conversations = new Map<RecordedStep, Conversation | undefined>()

  constructor(
    readonly tape: Tape,
    readonly drawn: DrawnValues,
  ) {}

  /** The body, or the address where there is none. */
  of(event: StepEvent, body: Uint8Array): string {
    const isBare = event.type === 'request' && body.length === 0
    return this.drawn.without(isBare ? Buffer.from(event.url) : body)
  }

  ofStep(step: RecordedStep): string {
    const known = this.#texts.get(step)
    if (known !== undefined) return known
    const text = this.of(step.event, this.tape.body(step.seq))
    this.#texts.set(step, text)
    return text
  }

  conversation(body: Uint8Array): Conversation | undefined {
    return conversationOf(body, (bytes) => this.drawn.without(bytes))
  }

  conversationOf(step: RecordedStep): Conversation | undefined {
    if (!this.#conversations.has(step))
      this.#conversations.set(step, this.conversation(this.tape.body(step.seq)))
    return this.#conversations.get(step)
  }
}
