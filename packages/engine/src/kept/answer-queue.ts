import { moduleLoadInFlight } from '../module-loads.js'
import { natives } from '../natives.js'
import type { NewDelivery, Operation } from '../sessions/session.js'

/** One part of an answer that does not come from outside. */
export interface QueuedPart {
  readonly event: NewDelivery
  readonly body: Uint8Array
  /** Its place among all that wait: the number of the recorded part it stands for. */
  readonly order: number
  /** Of a process: how much the agent had written to it by then. */
  readonly written?: number
}

interface Waiting {
  /** Parts reach the agent through this one. */
  readonly operation: Operation
  /** Undefined while it is not known yet what they are. */
  parts: QueuedPart[] | undefined
  readonly order: number
}

/**
 * Hands out answers that do not come from outside, one part at a time: in the
 * recorded order, without the recorded delays, and each only when the agent has done
 * everything it does about the one before. An answer that is still being made up
 * holds back those that came later then, so that the order does not depend on how
 * long that takes.
 */
export class AnswerQueue {
  #waiting: Waiting[] = []
  #handedOut: Operation | undefined
  #requested = false
  #patience: NodeJS.Timeout | undefined

  add(operation: Operation, parts: readonly QueuedPart[]): void {
    if (parts.length === 0) return
    this.#waiting.push({ operation, parts: [...parts], order: 0 })
    this.#request()
  }

  /** An answer that is being made up. Without parts it comes from elsewhere. */
  addLater(operation: Operation, order: number, making: Promise<readonly QueuedPart[]>): void {
    const waiting: Waiting = { operation, parts: undefined, order }
    this.#waiting.push(waiting)
    const made = (parts: readonly QueuedPart[]): void => {
      waiting.parts = [...parts]
      this.#request()
    }
    making.then(made, () => made([]))
  }

  /** The agent has given it up, or uses the connection for something else: nothing more of it comes. */
  drop(operation: Operation): void {
    this.#waiting = this.#waiting.filter((one) => one.operation !== operation)
  }

  /** The agent wrote to something: a part that waited for that may be due. */
  look(): void {
    if (this.#waiting.length > 0) this.#request()
  }

  /** A part has reached the agent. */
  delivering(operation: Operation): void {
    if (operation !== this.#handedOut) return
    this.#handedOut = undefined
    this.#request()
  }

  #request(): void {
    if (this.#requested) return
    this.#requested = true
    natives.setImmediate(this.#next)
  }

  /** The agent is at rest: what it started in its last turn is known. */
  readonly #next = (): void => {
    this.#requested = false
    const isOnItsWay = this.#handedOut !== undefined && !this.#handedOut.closed
    if (moduleLoadInFlight() || isOnItsWay) return this.#request()
    this.#waiting = this.#waiting.filter(
      ({ operation, parts }) => !operation.closed && parts?.length !== 0,
    )
    natives.clearTimeout(this.#patience)
    const next = earliest(this.#waiting.filter((one) => isDue(one)))
    if (next !== undefined) return this.#handOut(next)
    // An agent that was changed may write less than then: its process answers all the same.
    if (this.#waiting.length > 0)
      this.#patience = natives.setTimeout(() => {
        const first = earliest(this.#waiting.filter(({ operation }) => !operation.closed))
        if (first !== undefined && this.#handedOut === undefined) this.#handOut(first)
      }, PATIENCE_MS)
  }

  #handOut(next: Waiting): void {
    const part = next.parts?.shift()
    if (part === undefined) return
    this.#handedOut = next.operation
    next.operation.complete(part.event, part.body)
  }
}

const PATIENCE_MS = 200

const earliest = (waiting: readonly Waiting[]): Waiting | undefined =>
  waiting.reduce<Waiting | undefined>(
    (first, one) => (first === undefined || placeOf(one) < placeOf(first) ? one : first),
    undefined,
  )

/** Whether the agent has written as much as it had when this came. */
function isDue({ operation, parts }: Waiting): boolean {
  const written = parts?.[0]?.written
  if (written === undefined) return true
  return (operation.action.stamp?.().written ?? written) >= written
}

const placeOf = ({ parts, order }: Waiting): number => parts?.[0]?.order ?? order
