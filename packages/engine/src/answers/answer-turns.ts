import { moduleLoadInFlight } from '../module-loads.js'
import { natives } from '../natives.js'
import type { Divergence } from '../sessions/divergence.js'
import type { NewDelivery, Operation } from '../sessions/session.js'
import { recordedPart } from './answer-part.js'
import type { DeliveryOrder } from './delivery-order.js'
import { otherBytes, waitsForever } from './no-answer.js'
import type { PendingAnswer } from './pending-answer.js'
import type { RecordedAnswers } from './recorded-answers.js'
import type { TurnTimers } from './turn-timers.js'

export interface AnswerTurnsOptions {
  readonly recorded: RecordedAnswers
  readonly order: DeliveryOrder
  readonly timers: TurnTimers
  /** Nothing is answered any more. */
  readonly isStopped: () => boolean
  readonly isClosed: () => boolean
  readonly stop: (divergence: Divergence) => void
  /** Milliseconds after which an agent that waits in vain is stopped; never unless set. */
  readonly stallMs: number | undefined
  /** Keeps the process alive until then. */
  readonly keepAlive: boolean
}

/**
 * Hands out recorded parts, one at a time: when the agent is at rest, what it started
 * in its last turn is known, and the next part is chosen. Each begins a turn, which
 * is known by the delivery that it was in the recording.
 */
export class AnswerTurns {
  #pending: PendingAnswer[] = []
  /** Chosen, and not with the agent yet. */
  #chosen: PendingAnswer | undefined
  #handedOut: { readonly operation: Operation; readonly turn: number } | undefined
  #turn: number
  #requested = false
  #stall: NodeJS.Timeout | undefined

  constructor(readonly options: AnswerTurnsOptions) {
    this.#turn = options.recorded.firstTurn
  }

  /** The one that the agent is in. */
  get turn(): number {
    return this.#turn
  }

  /** What was started, is not answered in full, and has no more parts on the tape. */
  get unanswered(): readonly PendingAnswer[] {
    return this.#pending.filter(({ operation, isExhausted }) => !operation.closed && isExhausted)
  }

  add(pending: PendingAnswer): void {
    this.#pending.push(pending)
  }

  find(operation: Operation): PendingAnswer | undefined {
    return this.#pending.find((one) => one.operation === operation)
  }

  restart(operation: Operation): void {
    this.options.timers.restart(operation, this.#pending)
    this.request()
  }

  /** A connection that is asked again was not closed after its last answer. */
  dropEndOf(connection: Operation): void {
    for (const pending of this.#pending) {
      if (pending.operation !== connection || pending.isExhausted) continue
      const next = this.options.recorded.delivery(pending.nextSeq)
      if (next.type === 'deliver' && next.part !== 'chunk') pending.drop()
    }
  }

  /** A part reaches the agent: says which turn begins with it. */
  begin(operation: Operation, event: NewDelivery): number {
    this.#turn =
      this.#handedOut?.operation === operation
        ? this.#handedOut.turn
        : (event.from ?? -operation.id)
    this.#handedOut = undefined
    return this.#turn
  }

  /** Asks for the next part, once the agent is at rest. */
  request(): void {
    if (this.#requested || this.options.isStopped()) return
    this.#requested = true
    natives.clearTimeout(this.#stall)
    natives.setImmediate(this.#next)
  }

  readonly #next = (): void => {
    const { order, timers } = this.options
    this.#requested = false
    if (moduleLoadInFlight() || this.#isOnItsWay()) return this.request()
    this.#handedOut = undefined
    this.#pending = this.#pending.filter((one) => !one.operation.closed && !this.#isOver(one))
    this.#pending.push(...timers.match(this.#turn))
    if (this.#chosen?.operation.closed === true) this.#chosen = undefined
    this.#chosen ??=
      order.choose(this.#pending.filter((one) => one.isReady())) ?? timers.lastResort(this.#pending)
    if (this.#chosen === undefined) return this.#idle()
    // Work goes on beside us; it says when it is finished.
    if (this.#chosen.work?.outcomes.length === 0) return
    const chosen = this.#chosen
    this.#chosen = undefined
    this.#handOut(chosen)
  }

  #isOnItsWay(): boolean {
    return this.#handedOut !== undefined && !this.#handedOut.operation.closed
  }

  /** Nothing more will come of it, and nobody will ask. */
  #isOver(pending: PendingAnswer): boolean {
    if (!pending.isExhausted) return false
    return pending.isTimer
      ? this.options.timers.isOver(pending)
      : pending.operation.action.event.type === 'socket'
  }

  #handOut(pending: PendingAnswer): void {
    const { recorded, timers, stop } = this.options
    const { operation, work } = pending
    const seq = pending.isExhausted ? undefined : pending.nextSeq
    pending.advance()
    if (pending.isTimer) timers.fired(pending)
    this.#handedOut = { operation, turn: seq ?? -operation.id }
    if (seq === undefined || work !== undefined) {
      const native = work?.outcomes.shift()?.native
      const from = seq === undefined ? {} : { from: seq }
      operation.complete({ type: 'deliver', part: 'fire', ...from }, undefined, native)
    } else {
      const delivery = recorded.delivery(seq)
      if (pending.hasWritten(delivery) === 'other')
        return stop(otherBytes(delivery, operation.action.event, operation.action.stamp?.().digest))
      const { event, body } = recordedPart(recorded.tape, delivery)
      operation.complete(event, body)
    }
    // The next one is asked for once this one is with the agent. Not here: its turn must be
    // alone in its round of the event loop, as it is when recorded, or its stacks differ.
  }

  #idle(): void {
    const { stallMs, keepAlive, isClosed, recorded, stop } = this.options
    if (stallMs === undefined || isClosed()) return
    this.#stall = natives.setTimeout(() => {
      if (!this.#requested && !isClosed()) stop(waitsForever(this.unanswered, recorded.tape.count))
    }, stallMs)
    if (!keepAlive) this.#stall.unref()
  }
}
