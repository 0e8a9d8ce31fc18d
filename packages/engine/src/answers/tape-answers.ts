import type { InitiationEvent, NewEvent, Tape } from '@retake/tape'
import type { ReplayDiverged } from '../errors.js'
import { errors } from '../errors.js'
import { moduleLoadInFlight } from '../module-loads.js'
import { natives } from '../natives.js'
import type { Answer, AnswerSource } from '../sessions/answer-source.js'
import type { Divergence } from '../sessions/divergence.js'
import { EMPTY } from '../sessions/session.js'
import type { NewDelivery, Operation, Session, SyncCall } from '../sessions/session.js'
import { recordedPart } from './answer-part.js'
import type { AnswerPart } from './answer-part.js'
import { Connections } from './connections.js'
import { DeliveryOrder } from './delivery-order.js'
import type { OrderOptions } from './delivery-order.js'
import { DrawnValues } from './drawn-values.js'
import { HeldOperation } from './held-operation.js'
import { noAnswer, otherBytes, waitsForever } from './no-answer.js'
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
  #pending: PendingAnswer[] = []
  /** Chosen, and not with the agent yet. */
  #chosen: PendingAnswer | undefined
  #handedOut: { readonly operation: Operation; readonly turn: number } | undefined
  #turn: number
  #requested = false
  #error: ReplayDiverged | undefined
  #stall: NodeJS.Timeout | undefined

  constructor(
    readonly tape: Tape,
    readonly options: TapeAnswersOptions,
  ) {
    const draws: [turn: number, kind: string, value: unknown][] = []
    this.recorded = new RecordedAnswers(tape, options.from, (...draw) => draws.push(draw))
    this.#turn = this.recorded.firstTurn
    this.#draws = new TurnDraws(this.#turn, options.order.seed)
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
  }

  /** What was started, is not answered in full, and has no more parts on the tape. */
  get unanswered(): readonly PendingAnswer[] {
    return this.#pending.filter(({ operation, isExhausted }) => !operation.closed && isExhausted)
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
    this.#requestNext()
  }

  run(call: SyncCall): Answer {
    if (this.#error !== undefined) throw this.#error
    const recorded = this.#take(call.event, call.body)
    const seq = recorded?.parts[0]
    if (seq === undefined) throw this.#stop(this.#noAnswer(call.event, call.body))
    return recordedPart(this.tape, this.recorded.delivery(seq))
  }

  restart(operation: Operation): void {
    this.#timers.restart(operation, this.#pending)
    this.#requestNext()
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
    const turn =
      this.#handedOut?.operation === operation
        ? this.#handedOut.turn
        : (event.from ?? -operation.id)
    this.#handedOut = undefined
    this.#turn = turn
    this.#draws.begin(turn)
    this.#requestNext()
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
      this.#pending.push(
        new PendingAnswer(this.recorded, operation, recorded, {
          writtenBefore: recorded?.written ?? 0,
        }),
      )
    this.#requestNext()
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
    this.#timers.noteAsked(recorded)
    const connection = this.#connections.askedBy(event)
    if (connection === undefined) {
      this.#pending.push(new PendingAnswer(this.recorded, operation, recorded))
      return
    }
    this.#endOthersOn(connection)
    const writtenBefore = connection.action.stamp?.().written ?? 0
    this.#pending.push(new PendingAnswer(this.recorded, connection, recorded, { writtenBefore }))
  }

  /** In another order, a stream writes the same lines in other portions. */
  #isWrittenOtherwise(event: NewEvent<InitiationEvent>, body: Uint8Array | undefined): boolean {
    return this.options.order.seed !== 0 && this.#writes.has(event, this.#masked(body))
  }

  /** A connection that is asked again was not closed after its last answer. */
  #endOthersOn(connection: Operation): void {
    for (const pending of this.#pending) {
      if (pending.operation !== connection || pending.isExhausted) continue
      const next = this.recorded.delivery(pending.nextSeq)
      if (next.type === 'deliver' && next.part !== 'chunk') pending.drop()
    }
  }

  /** Clients keep connections open as they see fit: one more than then is opened like those before it. */
  #connect(operation: Operation, event: NewEvent<InitiationEvent>): void {
    this.#connections.add(operation)
    const recorded = this.#take(event, undefined)
    if (recorded !== undefined) {
      this.#pending.push(new PendingAnswer(this.recorded, operation, recorded))
      return
    }
    const alike = this.#index.alike(event).find(({ parts }) => parts.length > 0)
    if (alike === undefined) return void this.#stop(this.#noAnswer(event, undefined))
    this.#pending.push(
      new PendingAnswer(this.recorded, operation, alike, { parts: alike.parts.slice(0, 1) }),
    )
  }

  #work(operation: Operation): HeldOperation {
    const held = new HeldOperation(operation, () => this.#requestNext())
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
    this.#pending.push(
      new PendingAnswer(this.recorded, operation, recorded, { parts, writtenBefore }),
    )
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
    return this.#index.take(event, this.#masked(body), this.#turn)
  }

  #toldThen(operation: Operation): ToldProcess | undefined {
    const recorded = this.#pending.find((one) => one.operation === operation)?.recorded
    return recorded && new ToldProcess(this.recorded, recorded.event.seq)
  }

  #masked(body: Uint8Array | undefined): Uint8Array {
    return body && body.length > 0 ? this.options.session().secrets.bytes(body) : EMPTY
  }

  // ── what comes next ───────────────────────────────────────────────────────

  #requestNext(): void {
    if (this.#requested || this.#error !== undefined) return
    this.#requested = true
    natives.clearTimeout(this.#stall)
    natives.setImmediate(this.#next)
  }

  /** The agent is at rest: what was started in its last turn is known, and the next part is chosen. */
  readonly #next = (): void => {
    this.#requested = false
    if (moduleLoadInFlight() || this.#isOnItsWay()) return this.#requestNext()
    this.#handedOut = undefined
    this.#pending = this.#pending.filter((one) => !one.operation.closed && !this.#isOver(one))
    this.#pending.push(...this.#timers.match(this.#turn))
    if (this.#chosen?.operation.closed === true) this.#chosen = undefined
    this.#chosen ??= this.order.choose(this.#ready()) ?? this.#timers.lastResort(this.#pending)
    if (this.#chosen === undefined) return this.#idle()
    // Work goes on beside us; it says when it is finished.
    if (this.#chosen.work?.outcomes.length === 0) return
    const chosen = this.#chosen
    this.#chosen = undefined
    this.#handOut(chosen)
  }

  /** Nothing more will come of it, and nobody will ask. */
  #isOver(pending: PendingAnswer): boolean {
    if (!pending.isExhausted) return false
    return pending.isTimer
      ? this.#timers.isOver(pending)
      : pending.operation.action.event.type === 'socket'
  }

  #isOnItsWay(): boolean {
    return this.#handedOut !== undefined && !this.#handedOut.operation.closed
  }

  #ready(): PendingAnswer[] {
    return this.#pending.filter((one) => one.isReady())
  }

  #handOut(pending: PendingAnswer): void {
    const { operation, work } = pending
    const seq = pending.isExhausted ? undefined : pending.nextSeq
    pending.advance()
    if (pending.isTimer) this.#timers.fired(pending)
    this.#handedOut = { operation, turn: seq ?? -operation.id }
    if (seq === undefined || work !== undefined) {
      const native = work?.outcomes.shift()?.native
      const from = seq === undefined ? {} : { from: seq }
      operation.complete({ type: 'deliver', part: 'fire', ...from }, undefined, native)
    } else {
      const event = this.recorded.delivery(seq)
      if (pending.hasWritten(event) === 'other')
        return void this.#stop(otherBytes(event, operation.action.stamp?.().digest))
      const part = recordedPart(this.tape, event)
      operation.complete(part.event, part.body)
    }
    // `delivering` asks for the next one. Not here: the agent's turn must be alone in
    // its round of the event loop, as it is when recorded, or its stacks differ.
  }

  #idle(): void {
    const { stallMs, keepAlive } = this.options
    if (stallMs === undefined || this.options.session().closed) return
    this.#stall = natives.setTimeout(() => {
      if (!this.#requested && !this.options.session().closed)
        this.#stop(waitsForever(this.unanswered, this.tape.count))
    }, stallMs)
    if (keepAlive !== true) this.#stall.unref()
  }

  #noAnswer(
    event: NewEvent<InitiationEvent>,
    body: Uint8Array | undefined,
    before?: RecordedOperation,
  ): Divergence {
    const masked = this.#masked(body)
    const nearest = before
      ? this.#index.compare(before, event, masked)
      : this.#index.nearest(event, masked, this.#turn)
    return noAnswer(event, nearest, this.tape.count)
  }

  #stop(divergence: Divergence): ReplayDiverged {
    if (this.#error !== undefined) return this.#error
    this.#error = (this.options.errorFor ?? errors.offlineTailEnded)(divergence)
    this.divergences.push(divergence)
    this.options.onStopped(this.#error)
    return this.#error
  }
}
