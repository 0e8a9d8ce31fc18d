import { natives } from './natives.js'
import type { Delivery, Operation } from './session.js'

export interface Turn {
  readonly operation: Operation
  /** More than one if several parts of one answer had arrived before the turn. */
  readonly deliveries: Iterable<Delivery>
}

/**
 * The only code that calls agent code, except for operations that a tape does not have: in observe
 * mode, and after the end of the run. Synchronous calls bypass it. It delivers the answers, or
 * parts of answers, of one operation per turn of the event loop, so that the agent has reacted to
 * them before the next delivery. Recording and replaying use the same gate; what the agent can
 * observe is the same in both, even its stack traces.
 */
export class Gate {
  #requested = false

  constructor(
    readonly options: {
      /** Takes the delivery whose turn it is, if any. Must not throw: nothing could catch it. */
      readonly next: () => Turn | undefined
      /** Called after each turn. */
      readonly after: () => void
      /** False while Node loads a module in another thread; all turns then wait. */
      readonly mayRun: () => boolean
    },
  ) {}

  /** True if a turn is scheduled. */
  get requested(): boolean {
    return this.#requested
  }

  /** Requests a turn, now or after a wait. */
  request(waitMs = 0): void {
    if (this.#requested) return
    this.#requested = true
    if (waitMs > 1) natives.setTimeout(() => natives.setImmediate(this.#turn), waitMs)
    else natives.setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#requested = false
    const { next, after, mayRun } = this.options
    if (!mayRun()) return this.request()
    const turn = next()
    if (turn === undefined) return
    try {
      for (const delivery of turn.deliveries) turn.operation.deliver(delivery)
    } finally {
      after()
    }
  }
}
