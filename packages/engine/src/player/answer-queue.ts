import { moduleLoadInFlight } from '../boundaries/module-loads.js'
import { natives } from '../natives.js'
import type { Operation } from '../sessions/session.js'

/** An answer that does not come from outside, and of which parts wait for their turn. */
export interface WaitingAnswer {
  /** Parts reach the agent through this one. */
  readonly operation: Operation
  /** False while its next part is still being made; nothing else comes until then. */
  readonly isMade: boolean
}

/**
 * Hands out answers that do not come from outside, one part at a time: each only when the agent
 * has done everything it does about the one before, because JavaScript is deterministic between
 * deliveries. Subclasses choose the order.
 */
export abstract class AnswerQueue<A extends WaitingAnswer> {
  protected waiting: A[] = []
  #handedOut: Operation | undefined
  #requested = false
  #timer: NodeJS.Timeout | undefined

  /** True if nothing more of it will come. */
  protected abstract isOver(answer: A): boolean
  /** The agent is idle: everything it started in its last turn is known. Undefined if all have to wait. */
  protected abstract choose(): A | undefined
  /** Completes the next part, and those that came in the same turn. */
  protected abstract complete(answer: A): void
  /** Nothing could be chosen: a timer after which something happens all the same. */
  protected abstract patience(): NodeJS.Timeout | undefined

  add(answer: A): void {
    this.waiting.push(answer)
    this.request()
  }

  /** A part has reached the agent. */
  delivering(operation: Operation): void {
    if (operation === this.#handedOut) this.#handedOut = undefined
    this.request()
  }

  /** Requests the next part, once the agent is idle: something may be due now. */
  request(): void {
    if (this.#requested) return
    this.#requested = true
    natives.clearTimeout(this.#timer)
    natives.setImmediate(this.#next)
  }

  readonly #next = (): void => {
    this.#requested = false
    if (moduleLoadInFlight() || this.#handedOut?.closed === false) return this.request()
    this.waiting = this.waiting.filter((one) => !one.operation.closed && !this.isOver(one))
    const next = this.choose()
    if (next === undefined) this.#timer = this.patience()
    else this.handOut(next)
  }

  /**
   * The next one is requested when this one has reached the agent. Not here: its turn must be
   * alone in its round of the event loop, as it is when recorded, or its stacks differ.
   */
  protected handOut(answer: A): void {
    if (!answer.isMade) return
    this.#handedOut = answer.operation
    this.complete(answer)
  }
}
