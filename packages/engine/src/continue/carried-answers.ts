import { natives } from '../natives.js'
import type { RecordSession } from '../sessions/record-session.js'
import type { NewDelivery, Operation } from '../sessions/session.js'

/** A part of an answer that a run which goes live still gets from a tape. */
export interface CarriedPart {
  readonly event: NewDelivery
  readonly body: Uint8Array
  /** When it is due, in milliseconds after the run went live. */
  readonly dueMs: number
  /** Its place among others that are due at the same moment. */
  readonly order: number
}

interface Carried extends CarriedPart {
  readonly operation: Operation
  /** How much the agent had written to a connection when it was carried over. */
  readonly written: number | undefined
}

/**
 * Hands out what was on its way when a run left its tape: in the recorded order,
 * and at the recorded distance, so that a race with a timer or with something
 * live comes out as it would have. Nothing is handed to what the agent has given
 * up, or to a connection that it uses for its next request.
 */
export class CarriedAnswers {
  #waiting: Carried[] = []
  #startedAt: number | undefined

  constructor(readonly recorder: RecordSession) {}

  add(operation: Operation, parts: readonly CarriedPart[]): void {
    if (parts.length === 0) return
    const written = isConnection(operation) ? operation.action.stamp?.().written : undefined
    this.#waiting.push(...parts.map((part) => ({ ...part, operation, written })))
    if (this.#startedAt !== undefined) return
    this.#startedAt = natives.performanceNow()
    // Everything that is under way is added in one go, before the first is due.
    natives.setImmediate(() => {
      this.#waiting.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)
      this.#handOut()
    })
  }

  #handOut(): void {
    const elapsedMs = natives.performanceNow() - (this.#startedAt ?? 0)
    this.#waiting = this.#waiting.filter((part) => !isObsolete(part))
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (next.dueMs > elapsedMs) {
        // Looked at now and then: what the agent has given up must not keep the process alive.
        natives.setTimeout(() => this.#handOut(), Math.min(next.dueMs - elapsedMs, LOOK_MS))
        return
      }
      this.#waiting.shift()
      this.recorder.completed(next.operation, next.event, next.body, undefined)
    }
  }
}

const LOOK_MS = 50

const isConnection = ({ action }: Operation): boolean => action.event.type === 'socket'

const isObsolete = ({ operation, written }: Carried): boolean =>
  operation.closed || (written !== undefined && (operation.action.stamp?.().written ?? 0) > written)
