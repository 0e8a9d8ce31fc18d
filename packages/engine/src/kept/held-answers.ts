import type { Tape } from '@retake/tape'
import { recordedPart } from '../answers/answer-part.js'
import type { AnswerPart } from '../answers/answer-part.js'
import type { RecordedAnswers } from '../answers/recorded-answers.js'
import type { Operation } from '../sessions/session.js'
import type { QueuedPart } from './answer-queue.js'
import type { KeptConnections } from './kept-connections.js'
import type { RecordedStep } from './recorded-step.js'

export interface HeldAnswersOptions {
  readonly recorded: RecordedAnswers
  readonly connections: KeptConnections
  /** By the event that asked. */
  readonly steps: ReadonlyMap<number, RecordedStep>
  /** The first event that was not served: the agent has had what came before. */
  readonly at: number
}

/** What was recorded of the answers of held steps, as parts that wait for their place. */
export class HeldAnswers {
  constructor(
    readonly tape: Tape,
    readonly options: HeldAnswersOptions,
  ) {}

  /** The answer of a step, to be given through `carrier`: what asked, or its connection. */
  of({ seq, parts }: RecordedStep, carrier: Operation): QueuedPart[] {
    const { connections, at } = this.options
    const isHttp1 = carrier.action.event.type === 'socket'
    const answer = isHttp1 ? connections.answerParts(parts) : parts
    return this.#queued(answer, seq < at ? at : 0)
  }

  /** What opens a connection that was being opened when the tape was left. */
  opening({ id }: Operation): QueuedPart[] {
    const { parts = [] } = this.options.recorded.byStart.get(id) ?? {}
    return this.#queued(parts, this.options.at).filter(
      ({ event }) =>
        event.type === 'deliver' && (event.part === 'connect' || event.part === 'error'),
    )
  }

  part(seq: number): AnswerPart {
    return recordedPart(this.tape, this.options.recorded.delivery(seq))
  }

  #queued(parts: readonly number[], from: number): QueuedPart[] {
    const { recorded, steps } = this.options
    return parts
      .filter((seq) => seq >= from)
      .map((seq) => {
        const event = recorded.delivery(seq)
        const written = event.type === 'deliver' ? event.written : undefined
        const isProcess = event.type === 'deliver' && steps.get(event.op)?.event.type === 'call'
        return {
          ...this.part(seq),
          order: seq,
          ...(isProcess && written !== undefined && { written }),
        }
      })
  }
}
