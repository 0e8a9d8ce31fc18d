import { isDelivery } from '@retake/tape'
import type { DeliveryEvent, Tape } from '@retake/tape'
import { ReplayDiverged } from '../errors.js'
import { moduleLoadInFlight } from '../module-loads.js'
import { natives } from '../natives.js'
import { describe, nameReceiver } from './divergence.js'
import { LeftTape } from './divergence-log.js'
import type { DivergenceLog } from './divergence-log.js'
import { Gate } from './gate.js'
import type { Turn } from './gate.js'
import type { ReplayOptions } from './replay-options.js'
import type { Operation } from './session.js'
import { watchForStall } from './stall-watch.js'
import type { TapeCursor } from './tape-cursor.js'

/**
 * Hands the recorded deliveries to the agent, each in its turn and no earlier than
 * the agent has done what it had done by then. Notices when it waits for one that
 * will never be due.
 */
export class ReplayDeliveries {
  closed = false
  /** What was started and is not answered in full, by its event. */
  readonly #operations = new Map<number, Operation>()
  /** Re-executed work that has not finished. */
  #working = 0
  readonly #startedAt = natives.performanceNow()
  readonly #gate = new Gate(
    () => this.#takeTurn(),
    () => this.schedule(),
  )
  readonly #stallWatch: { stop(): void }

  constructor(
    readonly tape: Tape,
    readonly cursor: TapeCursor,
    readonly log: DivergenceLog,
    readonly options: ReplayOptions,
  ) {
    const stallMs = options.stallMs ?? 4000
    this.#stallWatch = watchForStall({
      stallMs,
      keepAlive: options.keepAlive ?? false,
      progress: () =>
        this.#working > 0 || this.#gate.requested || log.stopped || moduleLoadInFlight()
          ? undefined
          : cursor.seq,
      onStall: () => this.#stalled(stallMs),
    })
    this.schedule()
  }

  /** What was started and has not been answered in full, in the order it was started. */
  get underWay(): readonly Operation[] {
    return [...this.#operations.values()].toSorted((a, b) => a.id - b.id)
  }

  /** Parts of its answer are handed out from now on. */
  expect(operation: Operation): void {
    this.#operations.set(operation.id, operation)
  }

  forget(operation: Operation): void {
    this.#operations.delete(operation.id)
  }

  /** It is done again, and its completion comes in its recorded turn. */
  expectWork(operation: Operation): void {
    this.expect(operation)
    this.#working += 1
  }

  workFinished(operation: Operation, native: unknown): void {
    this.#working -= 1
    operation.finished = { native }
    this.schedule()
  }

  close(): void {
    this.closed = true
    this.#stallWatch.stop()
  }

  /** Asks for a turn if a delivery is next on the tape. */
  schedule(): void {
    if (this.log.stopped || this.closed) return
    const event = this.cursor.peek()
    if (event === undefined && this.options.leave !== undefined) this.#leaveSoon()
    if (event === undefined || !isDelivery(event) || this.#gate.requested) return
    const isPaced = this.options.pace === 'recorded'
    this.#gate.request(isPaced ? event.at - (natives.performanceNow() - this.#startedAt) : 0)
  }

  /** The program may be waiting by now, and make no call that would find out that the tape is at its end. */
  #leaveSoon(): void {
    natives.setImmediate(() => this.closed || this.options.onLeft?.(undefined))
  }

  #takeTurn(): Turn | undefined {
    if (this.log.stopped || this.closed) return undefined
    const event = this.cursor.peek()
    if (event === undefined || !isDelivery(event)) return undefined
    const operation = this.#operations.get(event.op)
    try {
      if (operation === undefined) this.#skip(event)
      else if (this.#isDue(operation, event)) {
        this.cursor.advance()
        this.options.beforeDelivery?.(event)
        const native = operation.finished?.native
        return { operation, delivery: { event, body: this.tape.body(event.seq), native } }
      }
    } catch (error) {
      // There is no agent frame here to throw it into.
      this.#report(error)
    }
    return undefined
  }

  /** Re-executed work must have finished, and the agent must have written as much as it had written then. */
  #isDue(operation: Operation, event: DeliveryEvent): boolean {
    if (operation.action.reexecuted === true) return operation.finished !== undefined
    if (event.type !== 'deliver' || event.written === undefined) return true
    const stamp = operation.action.stamp?.()
    if (stamp === undefined || stamp.written < event.written) return false
    const isExact = stamp.written === event.written
    const digest = isExact ? stamp.digest : operation.action.digestAt?.(event.written)
    if (digest !== undefined && digest !== event.digest) {
      this.log.diverge(
        'different',
        `what was sent to ${nameReceiver(operation.action.event, this.#firstAnswer(event.op))} differs`,
        `The tape has ${describe(event)} after other bytes were sent.`,
        [{ field: 'sent bytes (sha256)', recorded: event.digest, current: digest }],
      )
    }
    return true
  }

  /** The first bytes that came on a connection. */
  #firstAnswer(op: number): Uint8Array | undefined {
    for (const event of this.tape.events())
      if (event.type === 'deliver' && event.op === op && event.part === 'chunk')
        return this.tape.body(event.seq)
    return undefined
  }

  #skip(event: DeliveryEvent): void {
    this.log.diverge(
      'missing',
      `the tape delivers ${describe(event)}, which the program is not waiting for`,
      'The program gave up on it earlier than it did when recorded, or never started it.',
    )
    this.cursor.advance()
    this.schedule()
  }

  #stalled(stallMs: number): void {
    const event = this.cursor.peek()
    if (event === undefined && !this.cursor.isCut) return
    try {
      if (event === undefined) this.log.stopAtCut('waiting for an answer')
      this.log.stop(
        'missing',
        `the program waits, but the tape goes on with ${describe(event)}`,
        `Nothing happened for ${stallMs} ms.`,
      )
    } catch (error) {
      this.#report(error)
    }
  }

  /** What stops a replay was told to onStopped already. */
  #report(error: unknown): void {
    if (error instanceof LeftTape) this.options.onLeft?.(error.why)
    else if (!(error instanceof ReplayDiverged)) throw error
  }
}
