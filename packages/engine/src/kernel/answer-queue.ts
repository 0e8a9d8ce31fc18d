import { natives } from './natives.js'
import type { Operation } from './session.js'

/** An answer that does not come from outside; its parts wait for their turn. */
export interface WaitingAnswer {
  /** The operation through which parts reach the agent. */
  readonly operation: Operation
  /** False while the next part is still being made; all other answers wait for it. */
  readonly isMade: boolean
}

/**
 * Hands out answers that do not come from outside, one part at a time. Each part waits until the
 * agent has finished reacting to the previous one, because JavaScript is deterministic between
 * deliveries. Subclasses choose the order.
 */
export abstract class AnswerQueue<A extends WaitingAnswer> {
  protected waiting: A[] = []
  #handedOut: Operation | undefined
  #requested = false
  #timer: NodeJS.Timeout | undefined

  /** While `mayRun` is false, all parts wait. */
  constructor(readonly mayRun: () => boolean) {}

  protected abstract isOver(answer: A): boolean
  /** Chooses the next answer while the agent is idle, so that everything its last turn started is known. Undefined if all have to wait. */
  protected abstract choose(): A | undefined
  /** Delivers the next part, and the parts that share its turn. */
  protected abstract complete(answer: A): void
  /** Called if nothing could be chosen. Returns a timer after which the queue continues anyway. */
  protected abstract patience(): NodeJS.Timeout | undefined

  add(answer: A): void {
    this.waiting.push(answer)
    this.request()
  }

  /** Called when a part has reached the agent. */
  delivering(operation: Operation): void {
    if (operation === this.#handedOut) this.#handedOut = undefined
    this.request()
  }

  /** Requests the next part as soon as the agent is idle. */
  request(): void {
    if (this.#requested) return
    this.#requested = true
    natives.clearTimeout(this.#timer)
    natives.setImmediate(this.#next)
  }

  readonly #next = (): void => {
    this.#requested = false
    if (!this.mayRun() || this.#handedOut?.closed === false) return this.request()
    this.waiting = this.waiting.filter((one) => !one.operation.closed && !this.isOver(one))
    const next = this.choose()
    if (next === undefined) this.#timer = this.patience()
    else this.handOut(next)
  }

  /**
   * Does not request the next part, which happens when this one has reached the agent. As in the
   * recording, each turn must be alone in its iteration of the event loop, or stack traces differ.
   */
  protected handOut(answer: A): void {
    if (!answer.isMade) return
    this.#handedOut = answer.operation
    this.complete(answer)
  }
}
