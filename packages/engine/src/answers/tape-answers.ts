import type { InitiationEvent, NewEvent, Tape } from '@retake/tape'
import type { ReplayDiverged, RetakeError } from '../errors.js'
import { errors } from '../errors.js'
import type { Answer, AnswerSource } from '../sessions/answer-source.js'
import type { Divergence } from '../sessions/divergence.js'
import { EMPTY } from '../sessions/session.js'
import type { NewDelivery, Operation, Session, SyncCall } from '../sessions/session.js'
import { recordedPart } from './answer-part.js'
import type { AnswerPart } from './answer-part.js'
import { AnswerTurns } from './answer-turns.js'
import { Connections } from './connections.js'
import { DeliveryOrder } from './delivery-order.js'
import type { OrderOptions } from './delivery-order.js'
import { DrawnValues } from './drawn-values.js'
import { HeldOperation } from './held-operation.js'
import { noAnswer } from './no-answer.js'
import { PendingAnswer } from './pending-answer.js'
import { RecordedAnswers } from './recorded-answers.js'
import type { RecordedOperation } from './recorded-answers.js'
import { RecordedIndex } from './recorded-index.js'
import { StreamWrites } from './stream-writes.js'
import { ToldProcess } from './told-process.js'
import { TurnDraws } from './turn-draws.js'
import { TurnTimers } from './turn-timers.js'

export interface TapeAnswersOptions {
  /** The first event whose answers are used; 1 is the start of the run. */
  readonly from: number
  readonly order: OrderOptions
  /** The session that is answered. */
  readonly session: () => Pick<Session, 'closed' | 'secrets'>
  /** The agent asks for something that the tape has no answer to; nothing is answered any more. */
  readonly onStopped: (error: ReplayDiverged) => void
  /** Milliseconds after which an agent that waits for something the tape does not have is stopped; never unless set. */
  readonly stallMs?: number
  /** Keeps the process alive until then. */
  readonly keepAlive?: boolean
  /** What to say when the tape has no answer; that of an offline tail unless set. */
  readonly errorFor?: (divergence: Divergence) => ReplayDiverged
  /**
   * Another program may ask: more often than then, and with other values of chance
   * and clocks in its requests.
   */
  readonly answersAgain?: boolean
  /** Returns the error that stops the run if the operation started by this event is in doubt. */
  readonly stopInDoubt?: (seq: number) => RetakeError | undefined
}

/**
 * Answers from a tape in place of the outside. What the agent asks for is looked
 * up by what it is, not by its place, so the agent may act in another order than
 * it did then; the answers reach it one at a time, in the recorded order or in
 * another that the world outside could have chosen.
 *
 * Not promised: state outside the program is not simulated. A file that is read
 * twice answers as it did the first and the second time, whatever was written to
 * it in between.
 */
export class TapeAnswers implements AnswerSource {
  readonly isTape = true
  readonly divergences: Divergence[] = []
  readonly order: DeliveryOrder
  readonly recorded: RecordedAnswers
  readonly #index: RecordedIndex
  readonly #writes: StreamWrites
  readonly #draws: TurnDraws
  readonly #drawn = new DrawnValues()
  readonly #timers: TurnTimers
  readonly #connections = new Connections()
  readonly #told = new WeakMap<Operation, ToldProcess>()
  readonly #turns: AnswerTurns
  #error: RetakeError | undefined

  constructor(
    readonly tape: Tape,
    readonly options: TapeAnswersOptions,
  ) {
    const draws: [turn: number, kind: string, value: unknown][] = []
    this.recorded = new RecordedAnswers(tape, options.from, (...draw) => draws.push(draw))
    this.#draws = new TurnDraws(this.recorded.firstTurn, options.order.seed)
    for (const [turn, kind, value] of draws) {
      this.#draws.add(turn, kind, value)
      this.#drawn.add(kind, value)
    }
    this.#index = new RecordedIndex(this.recorded, this.#drawn, {
      exceptDrawn: options.order.seed !== 0 || options.answersAgain === true,
      again: options.answersAgain === true,
    })
    this.#writes = new StreamWrites(this.recorded)
    this.#timers = new TurnTimers(this.#index)
    this.order = new DeliveryOrder(options.order)
    this.#turns = new AnswerTurns({
      recorded: this.recorded,
      order: this.order,
      timers: this.#timers,
      isStopped: () => this.#error !== undefined,
      isClosed: () => options.session().closed,
      stop: (divergence) => void this.#stop(divergence),
      stallMs: options.stallMs,
      keepAlive: options.keepAlive === true,
    })
  }

  /** What was started, is not answered in full, and has no more parts on the tape. */
  get unanswered(): readonly PendingAnswer[] {
    return this.#turns.unanswered
  }

  /** It only waits for timers, again and again. */
  get goesOnForEver(): boolean {
    return this.#timers.goesOnForEver
  }

  /** Requests, tool calls and processes of the recording that nobody asked for. */
  get unasked(): readonly InitiationEvent[] {
    return this.#connections.unasked(this.recorded)
  }

  draw<T>(kind: string, native: () => T): T {
    const value = this.#draws.take(kind, native)
    this.#drawn.add(kind, value)
    return value as T
  }

  /** A value that the agent has drawn elsewhere: requests are compared without it. */
  noteDrawn(kind: string, value: unknown): void {
    this.#drawn.add(kind, value)
  }

  /** Whether an answer could be given. */
  has(event: NewEvent<InitiationEvent>, body: Uint8Array | undefined): boolean {
    if (event.type === 'socket') return this.#index.alike(event).length > 0
    return this.#index.has(event, this.#masked(body))
  }

  /** A connection that the tape has opened, by its event. */
  connection(op: number): Operation | undefined {
    return this.#connections.get(op)
  }

  /** What was started before counts as used, what was started from this event on does not. */
  rewindTo(seq: number): void {
    for (const operation of this.recorded.operations) operation.used = operation.event.seq < seq
  }

  start(operation: Operation): void {
    if (this.#error !== undefined || this.options.session().closed) return
    const { event, body, reexecuted } = operation.action
    if (event.type === 'timer') this.#timers.add(operation)
    else if (reexecuted === true) this.#timers.add(operation, this.#work(operation))
    else if (event.type === 'socket') this.#connect(operation, event)
    else this.#answer(operation, event, body)
    this.#turns.request()
  }

  run(call: SyncCall): Answer {
    if (this.#error !== undefined) throw this.#error
    const recorded = this.#take(call.event, call.body)
    this.#error = recorded && this.options.stopInDoubt?.(recorded.event.seq)
    if (this.#error !== undefined) throw this.#error
    const seq = recorded?.parts[0]
    if (seq === undefined) throw this.#stop(this.#noAnswer(call.event, call.body))
    return recordedPart(this.tape, this.recorded.delivery(seq))
  }

  restart(operation: Operation): void {
    this.#turns.restart(operation)
  }

  /** A process answers only who tells it what it was told then. Orders that are tried may mix what lanes say. */
  wrote(operation: Operation, bytes: Uint8Array): void {
    if (this.options.order.seed !== 0 || this.#error !== undefined) return
    const told = this.#told.get(operation) ?? this.#toldThen(operation)
    if (told === undefined) return
    this.#told.set(operation, told)
    const other = told.compare(bytes)
    if (other !== undefined) this.#stop(other)
  }

  /** A part reaches the agent: what it does from here on, it did after that part in the recording, too. */
  delivering(operation: Operation, event: NewDelivery): void {
    this.#draws.begin(this.#turns.begin(operation, event))
    this.#turns.request()
  }

  /**
   * Takes over an operation that was served until now. `given` stands in for the
   * rest of its recorded answer; `asks` is sent in place of what it asked.
   */
  carry(
    operation: Operation,
    change: {
      readonly given?: readonly AnswerPart[]
      /** Of an answer with further parts: the events that `given` stands for. */
      readonly replaces?: readonly number[]
      readonly asks?: Uint8Array
    } = {},
  ): void {
    const { event, reexecuted } = operation.action
    const recorded =
      this.recorded.answering.get(operation.id) ?? this.recorded.byStart.get(operation.id)
    if (event.type === 'socket') this.#connections.add(operation)
    if (change.asks !== undefined)
      this.#answer(operation, recorded?.event ?? event, change.asks, recorded)
    else if (change.given !== undefined) {
      this.#give(operation, change.given, change.replaces ?? recorded?.parts ?? [])
      if (change.replaces !== undefined) this.#goOn(operation, recorded, change.replaces)
    } else if (reexecuted === true) this.#carryWork(operation)
    else
      this.#turns.add(
        new PendingAnswer(this.recorded, operation, recorded, {
          writtenBefore: recorded?.written ?? 0,
        }),
      )
    this.#turns.request()
  }

  // ── what is asked ─────────────────────────────────────────────────────────

  #answer(
    operation: Operation,
    event: NewEvent<InitiationEvent>,
    body: Uint8Array | undefined,
    before?: RecordedOperation,
  ): void {
    const recorded = this.#take(event, body)
    if (recorded === undefined && this.#isWrittenOtherwise(event, body))
      return operation.complete({ type: 'result', as: 'json' }, Buffer.from(`${body?.length ?? 0}`))
    if (recorded === undefined) return void this.#stop(this.#noAnswer(event, body, before))
    this.#error = this.options.stopInDoubt?.(recorded.event.seq)
    if (this.#error !== undefined) return
    this.#timers.noteAsked(recorded)
    const connection = this.#connections.askedBy(event)
    if (connection === undefined) {
      this.#turns.add(new PendingAnswer(this.recorded, operation, recorded))
      return
    }
    this.#turns.dropEndOf(connection)
    const writtenBefore = connection.action.stamp?.().written ?? 0
    this.#turns.add(new PendingAnswer(this.recorded, connection, recorded, { writtenBefore }))
  }

  /** In another order, a stream writes the same lines in other portions. */
  #isWrittenOtherwise(event: NewEvent<InitiationEvent>, body: Uint8Array | undefined): boolean {
    return this.options.order.seed !== 0 && this.#writes.has(event, this.#masked(body))
  }

  /** Clients keep connections open as they see fit: one more than then is opened like those before it. */
  #connect(operation: Operation, event: NewEvent<InitiationEvent>): void {
    this.#connections.add(operation)
    const recorded = this.#take(event, undefined)
    if (recorded !== undefined) {
      this.#turns.add(new PendingAnswer(this.recorded, operation, recorded))
      return
    }
    const alike = this.#index.alike(event).find(({ parts }) => parts.length > 0)
    if (alike === undefined) return void this.#stop(this.#noAnswer(event, undefined))
    this.#turns.add(
      new PendingAnswer(this.recorded, operation, alike, { parts: alike.parts.slice(0, 1) }),
    )
  }

  #work(operation: Operation): HeldOperation {
    const held = new HeldOperation(operation, () => this.#turns.request())
    operation.action.start(held)
    return held
  }

  #carryWork(operation: Operation): void {
    if (operation.finished === undefined) return
    const { native } = operation.finished
    operation.complete({ type: 'deliver', part: 'fire' }, undefined, native)
  }

  /** What came after a part that was replaced still comes. */
  #goOn(
    operation: Operation,
    recorded: RecordedOperation | undefined,
    replaced: readonly number[],
  ): void {
    const parts = recorded?.parts.filter((seq) => !replaced.includes(seq)) ?? []
    const writtenBefore = recorded?.written ?? 0
    this.#turns.add(new PendingAnswer(this.recorded, operation, recorded, { parts, writtenBefore }))
  }

  #give(operation: Operation, given: readonly AnswerPart[], parts: readonly number[]): void {
    const last = parts.at(-1)
    for (const [index, { event, body }] of given.entries()) {
      const turn = parts[index] ?? last
      operation.complete(turn === undefined ? event : { ...event, from: turn }, body)
    }
  }

  #take(
    event: NewEvent<InitiationEvent>,
    body: Uint8Array | undefined,
  ): RecordedOperation | undefined {
    return this.#index.take(event, this.#masked(body), this.#turns.turn)
  }

  #toldThen(operation: Operation): ToldProcess | undefined {
    const recorded = this.#turns.find(operation)?.recorded
    return recorded && new ToldProcess(this.recorded, recorded.event.seq)
  }

  #masked(body: Uint8Array | undefined): Uint8Array {
    return body && body.length > 0 ? this.options.session().secrets.bytes(body) : EMPTY
  }

  #noAnswer(
    event: NewEvent<InitiationEvent>,
    body: Uint8Array | undefined,
    before?: RecordedOperation,
  ): Divergence {
    const masked = this.#masked(body)
    const nearest = before
      ? this.#index.compare(before, event, masked)
      : this.#index.nearest(event, masked, this.#turns.turn)
    return noAnswer(event, nearest, this.tape.count)
  }

  #stop(divergence: Divergence): RetakeError {
    if (this.#error !== undefined) return this.#error
    const error = (this.options.errorFor ?? errors.offlineTailEnded)(divergence)
    this.#error = error
    this.divergences.push(divergence)
    this.options.onStopped(error)
    return error
  }
}
