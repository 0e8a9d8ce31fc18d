import { type DeliveryEvent, isDelivery, type Tape, type TapeEvent } from '@retake/tape/format'
import type { Machine } from './machine.js'
import type { Mask } from './mask.js'
import { natives } from './natives.js'
import { Gate, type Turn } from './gate.js'
import type { Delivery, Operation } from './session.js'
import {
  digestMismatch,
  type DivergenceFacts,
  type DivergenceLog,
  sentBytesDiffer,
} from './divergence.js'
import { hasWritten } from './compare.js'
import { LeftTape } from './go-live.js'
import type { TapeCursor } from './timeline.js'

export interface RecordedDeliveriesOptions {
  readonly mask: Pick<Mask, 'given' | 'isStructural'>
  readonly machine: Pick<Machine, 'mayRun' | 'isLoading'>
  /** `full` delivers as fast as possible; `recorded` preserves the recorded gaps. */
  readonly pace?: 'full' | 'recorded'
  /** Milliseconds without progress after which a program counts as diverged. */
  readonly stallMs?: number
  /** Keeps the process alive until a stall is detected. */
  readonly keepAlive?: boolean
  /**
   * Called immediately before each delivery reaches the agent; may block the thread to inspect the
   * program.
   */
  readonly beforeDelivery?: (event: DeliveryEvent) => void
  /** Called where the run goes live. If missing, a replay stops there. */
  readonly onLeft?: (why: DivergenceFacts | undefined) => void
}

/** After a shorter pause, a connection may still have had bytes to write. */
const PAUSE_MS = 5
const QUIET_TURNS = 5

/**
 * Hands the recorded deliveries to the agent. Each waits for its turn, and until the agent has done
 * everything that it had done by then in the recording. Detects an agent that waits for a delivery
 * that will never come.
 */
export class RecordedDeliveries {
  closed = false
  /** Operations without a complete answer, by their event. */
  readonly #operations = new Map<number, Operation>()
  /** Re-executed work that has not finished. */
  #working = 0
  /** Number of turns in which nothing was written before the delivery `seq`. */
  #quiet = { seq: -1, written: '', turns: 0 }
  readonly #startedAt = natives.performanceNow()
  readonly #gate: Gate
  readonly #stallWatch: NodeJS.Timeout

  constructor(
    readonly tape: Tape,
    readonly cursor: TapeCursor,
    readonly log: DivergenceLog,
    readonly options: RecordedDeliveriesOptions,
  ) {
    const stallMs = options.stallMs ?? 4000
    const { mayRun, isLoading } = options.machine
    this.#gate = new Gate({
      next: () => this.#takeTurn(),
      after: () => this.schedule(),
      mayRun,
    })
    let seen: number | undefined
    // A program that waits for something the tape never delivers would otherwise hang forever.
    this.#stallWatch = natives.setInterval(() => {
      const mayWait =
        this.#working > 0 || this.#gate.requested || log.stopped || !mayRun() || isLoading()
      const isStalled = !mayWait && cursor.seq === seen
      seen = mayWait ? undefined : cursor.seq
      if (!isStalled) return
      natives.clearInterval(this.#stallWatch)
      this.#stalled(stallMs)
    }, stallMs / 2)
    if (options.keepAlive !== true) this.#stallWatch.unref()
    if (options.onLeft !== undefined) process.prependListener('beforeExit', this.#drained)
    this.schedule()
  }

  /** Operations without a complete answer, in the order in which they were started. */
  get underWay(): readonly Operation[] {
    return [...this.#operations.values()].toSorted((a, b) => a.id - b.id)
  }

  /** Registers an operation, whose answer is then handed out part by part. */
  expect(operation: Operation): void {
    this.#operations.set(operation.id, operation)
  }

  forget(operation: Operation): void {
    this.#operations.delete(operation.id)
  }

  /** Registers re-executed work, whose completion waits for its recorded turn. */
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
    natives.clearInterval(this.#stallWatch)
    process.off('beforeExit', this.#drained)
  }

  /** Requests a turn if a delivery is next on the tape. */
  schedule(): void {
    if (this.log.stopped || this.closed) return
    const event = this.cursor.peek()
    // A waiting program may make no further call, which would otherwise leave the tape at its end.
    if (event === undefined && this.options.onLeft !== undefined)
      natives.setImmediate(() => this.closed || this.options.onLeft?.(undefined))
    if (event === undefined || !isDelivery(event) || this.#gate.requested) return
    const isPaced = this.options.pace === 'recorded'
    this.#gate.request(isPaced ? event.at - (natives.performanceNow() - this.#startedAt) : 0)
  }

  #takeTurn(): Turn | undefined {
    if (this.log.stopped || this.closed) return undefined
    const event = this.cursor.peek()
    if (event === undefined || !isDelivery(event)) return undefined
    const operation = this.#operations.get(event.op)
    try {
      if (operation === undefined) {
        this.log.diverge({ code: 'not-awaited' })
        this.cursor.advance()
        this.schedule()
      } else if (this.#isWriting(operation, event)) natives.setImmediate(() => this.schedule())
      else if (this.#isDue(operation, event)) {
        return { operation, deliveries: this.#joinedDeliveries(operation, event) }
      }
    } catch (error) {
      // No frame of the agent is on the stack, so this cannot be thrown.
      this.#report(error)
    }
    return undefined
  }

  *#joinedDeliveries(operation: Operation, first: DeliveryEvent): Iterable<Delivery> {
    let event: TapeEvent | undefined = first
    do {
      this.cursor.advance()
      this.options.beforeDelivery?.(event)
      const native = operation.finished?.native
      const { given } = this.options.mask
      yield { event: given.event(event), body: given.body(this.tape, event.seq), native }
      event = this.cursor.peek()
    } while (event?.type === 'deliver' && event.joined === true && event.op === first.op)
  }

  /** True if re-executed work has finished and the agent has written as much as it had in the recording. */
  #isDue(operation: Operation, event: DeliveryEvent): boolean {
    if (operation.action.reexecuted === true) return operation.finished !== undefined
    const written = hasWritten(operation, event)
    if (typeof written === 'object' && !this.options.mask.isStructural) {
      const reason = sentBytesDiffer(operation.action.event, this.#firstAnswer(event.op))
      this.log.diverge(reason, [digestMismatch(event, written.otherDigest)])
    }
    return written !== 'less'
  }

  /**
   * True if the next delivery is a timer that fired after a pause, and a connection was just
   * written to. Layers above the connection, such as Node's HTTP/2, write over several turns of the
   * event loop. They had finished during the recorded pause; a timer that fires earlier would
   * cancel the rest.
   */
  #isWriting({ action }: Operation, event: DeliveryEvent): boolean {
    if (action.event.type !== 'timer' || action.event.kind === 'immediate') return false
    const connections = this.underWay.filter((each) => each.action.event.type === 'socket')
    const [before] = this.tape.events(event.seq - 1, event.seq)
    const followsPause = before !== undefined && event.at - before.at >= PAUSE_MS
    if (connections.length === 0 || !followsPause) return false
    const written = connections.map((each) => each.action.stamp?.().written).join()
    const isSame = this.#quiet.seq === event.seq && this.#quiet.written === written
    this.#quiet = { seq: event.seq, written, turns: isSame ? this.#quiet.turns + 1 : 0 }
    return this.#quiet.turns < QUIET_TURNS
  }

  /** The first bytes that arrived on a connection. */
  #firstAnswer(op: number): Uint8Array | undefined {
    for (const event of this.tape.events())
      if (event.type === 'deliver' && event.op === op && event.part === 'chunk')
        return this.tape.body(event.seq)
    return undefined
  }

  /**
   * The event loop is empty, but answers are missing: the program waits for one of them before it
   * does what comes next on the tape. It would exit here without them.
   */
  readonly #drained = (): void => {
    const event = this.cursor.peek()
    const isWaiting = this.underWay.some(({ action }) => action.event.type === 'request')
    if (this.closed || this.log.stopped || !isWaiting || event === undefined) return
    if (event.type !== 'end') this.#stalled()
  }

  #stalled(silentMs?: number): void {
    const event = this.cursor.peek()
    if (event === undefined && !this.cursor.isCut) return
    try {
      if (event === undefined) this.log.stopAtCut()
      this.log.stop({ code: 'waiting', ...(silentMs !== undefined && { silentMs }) })
    } catch (error) {
      this.#report(error)
    }
  }

  /** `onStopped` was already called. */
  #report(error: unknown): void {
    if (error instanceof LeftTape) this.options.onLeft?.(error.why)
    else if (error !== this.log.stopped) throw error
  }
}
