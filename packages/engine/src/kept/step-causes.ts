import { isDelivery, isInitiation } from '@retake/tape'
import type { InitiationEvent, NewEvent, Tape } from '@retake/tape'
import { isAsked } from '../answers/is-asked.js'

/**
 * Knows after the answer of which step each thing was started. Between two
 * deliveries a program runs without a choice, so what it starts follows from the
 * delivery before it; a timer or a file hands on the step that it follows from itself.
 * Where several lanes join, that is the one that came last.
 */
export class StepCauses {
  /** By operation, the step that it follows from. */
  readonly #of = new Map<number, number | undefined>()
  readonly #steps = new Set<number>()
  /** By connection, the request that was written last. */
  readonly #asked = new Map<number, number>()
  readonly #answered = new Set<number>()
  readonly #unsure = new Set<number>()
  #current: number | undefined
  /** What was delivered last. */
  #delivered: number | undefined

  /** As it stands before event `until` of a tape. */
  static of(tape: Tape, until: number): StepCauses {
    const causes = new StepCauses()
    const synchronous = new Set<number>()
    for (const event of tape.events(1)) {
      if (event.seq >= until) break
      if (isInitiation(event)) {
        causes.started(event.seq, event)
        if (event.type === 'call' && event.sync === true) synchronous.add(event.seq)
      } else if (isDelivery(event)) {
        if (synchronous.has(event.op)) causes.#answered.add(event.op)
        else causes.delivered(event.op)
      }
    }
    return causes
  }

  started(op: number, event: NewEvent<InitiationEvent>): void {
    this.#of.set(op, this.#current)
    if (!isAsked(event)) return
    this.#steps.add(op)
    if (event.type !== 'request' || event.socket === undefined) return
    this.#asked.set(event.socket, op)
    if (event.socket === this.#delivered) this.#unsure.add(op)
  }

  delivered(op: number): void {
    this.#delivered = op
    const step = this.#steps.has(op) ? op : this.#asked.get(op)
    if (step !== undefined) this.#answered.add(step)
    this.#current = step ?? this.#of.get(op)
  }

  /** The step that an operation follows from, where that is sure. */
  causeOf(op: number): number | undefined {
    return this.#unsure.has(op) ? undefined : this.#of.get(op)
  }

  /**
   * Whether it was written where an answer had just come on the same connection: it
   * may follow from that answer, or have waited for the connection to be free.
   */
  isUnsure(op: number): boolean {
    return this.#unsure.has(op)
  }

  /** The request that a connection carries now. */
  askedOn(connection: number): number | undefined {
    return this.#asked.get(connection)
  }

  /** Whether some part of its answer has come. */
  isAnswered(step: number): boolean {
    return this.#answered.has(step)
  }

  /** Whether `step` follows from `from`, directly or by way of others. */
  follows(step: number, from: number): boolean {
    for (let at = this.causeOf(step); at !== undefined; at = this.causeOf(at))
      if (at === from) return true
    return false
  }
}
