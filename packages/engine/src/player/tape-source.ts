import type { InitiationEvent, NewEvent, Tape } from '@retake/tape/format'
import { type ReplayDiverged, type RetakeError, offlineTailEnded } from '../errors.js'
import {
  type Answer,
  type AnswerPart,
  type AnswerSource,
  endsAnswer,
  recordedPart,
} from '../kernel/source.js'
import { type DivergenceFacts, noAnswer, otherInput } from '../kernel/divergence.js'
import {
  EMPTY,
  type NewDelivery,
  type Operation,
  type Session,
  type SyncCall,
} from '../kernel/session.js'
import {
  AnswerTurns,
  DeliveryOrder,
  type OrderOptions,
  PausedOperation,
  PendingAnswer,
  TurnTimers,
} from './turns.js'
import { DrawnValues, seededNewDraw, TurnDraws } from '../kernel/draws.js'
import { isStepEvent, TapeTimeline, type RecordedOperation } from '../kernel/timeline.js'
import {
  type ContentRules,
  OTHER_ORDER,
  ContentMatcher,
  SAME_ORDER,
  StreamWrites,
} from './content-matcher.js'
import { bodyMismatches, compareInitiation } from '../kernel/compare.js'

/** The connections of the current run. Requests are answered on the connection they are written to. */
class Connections {
  readonly #byId = new Map<number, Operation>()
  readonly #withRequests = new Set<Operation>()

  add(connection: Operation): void {
    this.#byId.set(connection.id, connection)
  }

  get(op: number): Operation | undefined {
    return this.#byId.get(op)
  }

  /** The connection that a request is written to; undefined for requests without one. */
  connectionOf(event: NewEvent<InitiationEvent>): Operation | undefined {
    const connection = event.type === 'request' ? this.#byId.get(event.socket ?? -1) : undefined
    if (connection !== undefined) this.#withRequests.add(connection)
    return connection
  }

  /**
   * Requests, tool calls and processes of the recording that this run did not make. Excludes
   * requests whose connection was opened but abandoned before they could be written.
   */
  unrequested(recorded: TapeTimeline): InitiationEvent[] {
    const givenUp = [...this.#byId.values()].filter(
      (one) => one.closed && !this.#withRequests.has(one),
    )
    return recorded.operations
      .filter(({ used, event }) => !used && isStepEvent(event))
      .map(({ event }) => event)
      .filter((event) => !takeConnectionOf(event, recorded, givenUp))
  }
}

function takeConnectionOf(
  event: InitiationEvent,
  recorded: TapeTimeline,
  connections: Operation[],
): boolean {
  if (event.type !== 'request' || event.socket === undefined) return false
  const opened = recorded.byStart.get(event.socket)?.event
  const at = connections.findIndex(
    ({ action }) => opened && compareInitiation(opened, action.event).length === 0,
  )
  if (at >= 0) connections.splice(at, 1)
  return at >= 0
}

/**
 * Compares the recorded and the current input of a process, however they are split. A shorter input
 * is accepted until a recorded answer depends on the missing bytes.
 */
class StdinComparison {
  readonly #writes: readonly number[]
  #next = 0
  #rest: Uint8Array = new Uint8Array(0)

  constructor(
    readonly recorded: TapeTimeline,
    readonly op: number,
  ) {
    this.#writes = recorded.writes.get(op) ?? []
  }

  compare(bytes: Uint8Array): DivergenceFacts | undefined {
    for (let at = 0; at < bytes.length;) {
      if (this.#rest.length === 0 && !this.#read()) return this.#other(undefined, bytes)
      const count = Math.min(this.#rest.length, bytes.length - at)
      const then = this.#rest.subarray(0, count)
      if (Buffer.compare(then, bytes.subarray(at, at + count)) !== 0)
        return this.#other(this.recorded.tape.body(this.#seq), bytes)
      this.#rest = this.#rest.subarray(count)
      at += count
    }
    return undefined
  }

  /** The recorded write being compared; before the first one, the start of the process. */
  get #seq(): number {
    return this.#writes[this.#next - 1] ?? this.op
  }

  #read(): boolean {
    const seq = this.#writes[this.#next]
    if (seq === undefined) return false
    this.#next += 1
    this.#rest = this.recorded.tape.body(seq)
    return this.#rest.length > 0 || this.#read()
  }

  #other(recorded: Uint8Array | undefined, current: Uint8Array): DivergenceFacts {
    const mismatches = bodyMismatches(recorded ?? new Uint8Array(0), current)
    return otherInput(this.recorded.tape.event(this.#seq), mismatches, recorded === undefined)
  }
}

export interface TapeSourceOptions {
  /** The first event whose answers are used; 1 is the start of the run. */
  readonly from: number
  readonly order: OrderOptions
  readonly session: () => Pick<Session, 'closed' | 'secrets'>
  /** Called if the tape has no answer; nothing is answered after that. */
  readonly onStopped: (error: ReplayDiverged) => void
  /**
   * Milliseconds after which an agent that waits for something not on the tape is stopped; never by
   * default.
   */
  readonly stallMs?: number
  /** Keeps the process alive until a stall is detected. */
  readonly keepAlive?: boolean
  /** The error if the tape has no answer; by default that of an offline tail. */
  readonly errorFor?: (divergence: DivergenceFacts) => ReplayDiverged
  /** How requests are matched; by default, this depends on `order`. */
  readonly rules?: ContentRules
  /** The error that stops the run if the operation started by this event is in doubt. */
  readonly stopInDoubt?: (seq: number) => RetakeError | undefined
}

/**
 * Answers from a tape instead of the outside. Operations are found by content, not by position, so
 * the agent may act in a different order than when recorded. Answers reach it one at a time, in the
 * recorded order or in another one that the outside could have chosen. Not promised: state outside
 * the program is not simulated. A file that is read twice gives the answers of the first and the
 * second recorded read, whatever was written in between.
 */
export class TapeSource implements AnswerSource {
  readonly local = 'tape'
  readonly remote = 'tape'
  readonly divergences: DivergenceFacts[] = []
  readonly order: DeliveryOrder
  readonly recorded: TapeTimeline
  readonly #matcher: ContentMatcher
  readonly #writes: StreamWrites
  readonly #draws: TurnDraws
  readonly #drawn = new DrawnValues()
  readonly #timers: TurnTimers
  readonly #connections = new Connections()
  readonly #inputs = new WeakMap<Operation, StdinComparison>()
  readonly #turns: AnswerTurns
  #error: RetakeError | undefined

  constructor(
    readonly tape: Tape,
    readonly options: TapeSourceOptions,
  ) {
    this.recorded = new TapeTimeline(tape, options.from)
    this.#draws = new TurnDraws(this.recorded, seededNewDraw(options.order.seed))
    for (const { kind, value } of this.recorded.draws) this.#drawn.add(kind, value)
    const rules = options.rules ?? (options.order.seed === 0 ? SAME_ORDER : OTHER_ORDER)
    this.#matcher = new ContentMatcher(this.recorded, rules, this.#drawn)
    this.#writes = new StreamWrites(this.recorded)
    this.#timers = new TurnTimers(this.#matcher)
    this.order = new DeliveryOrder(options.order)
    this.#turns = new AnswerTurns({
      recorded: this.recorded,
      order: this.order,
      timers: this.#timers,
      isStopped: () => this.#error !== undefined,
      isClosed: () => options.session().closed,
      secrets: () => options.session().secrets,
      stop: (divergence) => void this.#stop(divergence),
      stallMs: options.stallMs,
      keepAlive: options.keepAlive === true,
    })
  }

  /** Operations without a complete answer that have no more parts on the tape. */
  get unanswered(): readonly PendingAnswer[] {
    return this.#turns.unanswered
  }

  /** True if the agent only waits for timers, again and again. */
  get isStalled(): boolean {
    return this.#timers.isStalled
  }

  /** Requests, tool calls and processes of the recording that this run did not make. */
  get unrequested(): readonly InitiationEvent[] {
    return this.#connections.unrequested(this.recorded)
  }

  draw<T>(kind: string, native: () => T): T {
    const value = this.#draws.take(kind, native)
    this.#drawn.add(kind, value)
    return value as T
  }

  /** Adds a value that the agent drew elsewhere and that comparisons of requests must ignore. */
  noteDrawn(kind: string, value: unknown): void {
    this.#drawn.add(kind, value)
  }

  has(event: NewEvent<InitiationEvent>, body: Uint8Array | undefined): boolean {
    if (event.type === 'socket') return this.#matcher.alike(event).length > 0
    return this.#matcher.has(event, this.#masked(event, body))
  }

  /** Finds a connection that the tape has opened, by its event. */
  connection(op: number): Operation | undefined {
    return this.#connections.get(op)
  }

  /** Marks operations before this event as used, and later ones as unused. */
  rewindTo(seq: number): void {
    for (const operation of this.recorded.operations) operation.used = operation.event.seq < seq
  }

  start(operation: Operation): void {
    if (this.#error !== undefined || this.options.session().closed) return
    const { event, body, reexecuted } = operation.action
    if (event.type === 'timer') this.#timers.add(operation)
    else if (reexecuted === true) {
      const paused = new PausedOperation(operation, () => this.#turns.request())
      operation.action.start(paused)
      this.#timers.add(operation, paused)
    } else if (event.type === 'socket') this.#connect(operation, event)
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
    return recordedPart(this.tape, this.recorded.delivery(seq), this.options.session().secrets)
  }

  refreshed(operation: Operation): void {
    this.#turns.refreshed(operation)
  }

  /** Lets a process answer only if it gets the recorded input. In other orders, lanes may mix their input. */
  wrote(operation: Operation, bytes: Uint8Array): void {
    if (this.options.order.seed !== 0 || this.#error !== undefined) return
    const recorded = this.#turns.find(operation)?.recorded
    const input =
      this.#inputs.get(operation) ??
      (recorded && new StdinComparison(this.recorded, recorded.event.seq))
    if (input === undefined) return
    this.#inputs.set(operation, input)
    const other = input.compare(bytes)
    if (other !== undefined) this.#stop(other)
  }

  /** Called when a part reaches the agent. Begins the turn that the part began in the recording. */
  delivering(operation: Operation, event: NewDelivery): void {
    this.#draws.begin(this.#turns.begin(operation, event))
  }

  /**
   * Takes over an operation that was served until now. `given` replaces the rest of its recorded
   * answer, `request` its request.
   */
  takeOver(
    operation: Operation,
    change: {
      readonly given?: readonly AnswerPart[]
      /** The events that `given` replaces, if the answer has further parts. */
      readonly replaces?: readonly number[] | undefined
      readonly request?: Uint8Array
    } = {},
  ): void {
    const { event, reexecuted } = operation.action
    const recorded =
      this.recorded.answering.get(operation.id) ?? this.recorded.byStart.get(operation.id)
    if (event.type === 'socket') this.#connections.add(operation)
    if (change.request !== undefined)
      this.#answer(operation, recorded?.event ?? event, change.request, recorded)
    else if (change.given !== undefined) {
      this.#give(operation, change.given, change.replaces ?? recorded?.parts ?? [])
      const { replaces } = change
      if (replaces !== undefined) {
        const parts = recorded?.parts.filter((seq) => !replaces.includes(seq)) ?? []
        const rest = { parts, writtenBefore: recorded?.written ?? 0 }
        this.#turns.add(new PendingAnswer(this.recorded, operation, recorded, rest))
      }
    } else if (reexecuted === true) {
      const { finished } = operation
      if (finished !== undefined)
        operation.complete({ type: 'deliver', part: 'fire' }, undefined, finished.native)
    } else
      this.#turns.add(
        new PendingAnswer(this.recorded, operation, recorded, {
          writtenBefore: recorded?.written ?? 0,
        }),
      )
    this.#turns.request()
  }

  // ── operations ──────────────────────────────────────────────────────────

  #answer(
    operation: Operation,
    event: NewEvent<InitiationEvent>,
    body: Uint8Array | undefined,
    before?: RecordedOperation,
  ): void {
    const recorded = this.#take(event, body)
    // In another order, a stream splits its lines into other writes.
    const isReordered = this.options.order.seed !== 0
    if (recorded === undefined && isReordered && this.#writes.has(event, this.#masked(event, body)))
      return operation.complete({ type: 'result', as: 'json' }, Buffer.from(`${body?.length ?? 0}`))
    if (recorded === undefined) return void this.#stop(this.#noAnswer(event, body, before))
    this.#error = this.options.stopInDoubt?.(recorded.event.seq)
    if (this.#error !== undefined) return
    this.#timers.noteRequest(recorded)
    const connection = this.#connections.connectionOf(event)
    if (connection === undefined) {
      this.#turns.add(new PendingAnswer(this.recorded, operation, recorded))
      return
    }
    this.#turns.dropEndOf(connection)
    const writtenBefore = connection.action.stamp?.().written ?? 0
    this.#turns.add(new PendingAnswer(this.recorded, connection, recorded, { writtenBefore }))
  }

  /** Reuses the opening of a similar connection if the client opens more than were recorded. */
  #connect(operation: Operation, event: NewEvent<InitiationEvent>): void {
    this.#connections.add(operation)
    const recorded = this.#take(event, undefined)
    if (recorded !== undefined) {
      this.#turns.add(new PendingAnswer(this.recorded, operation, recorded))
      return
    }
    const alike = this.#matcher.alike(event).find(({ parts }) => parts.length > 0)
    if (alike === undefined) return void this.#stop(this.#noAnswer(event, undefined))
    this.#turns.add(
      new PendingAnswer(this.recorded, operation, alike, { parts: alike.parts.slice(0, 1) }),
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
    return this.#matcher.take({ event, body: this.#masked(event, body), turn: this.#turns.turn })
  }

  #masked(event: NewEvent, body: Uint8Array | undefined): Uint8Array {
    if (body === undefined || body.length === 0) return EMPTY
    return this.options.session().secrets.unredacted.body(event, body)
  }

  #noAnswer(
    event: NewEvent<InitiationEvent>,
    body: Uint8Array | undefined,
    before?: RecordedOperation,
  ): DivergenceFacts {
    const masked = this.#masked(event, body)
    const nearest = before
      ? this.#matcher.compare(before, event, masked)
      : this.#matcher.nearest(event, masked, { turn: this.#turns.turn })
    return noAnswer(event, nearest, this.tape.count)
  }

  #stop(divergence: DivergenceFacts): RetakeError {
    if (this.#error !== undefined) return this.#error
    const error = (this.options.errorFor ?? offlineTailEnded)(divergence)
    this.#error = error
    this.divergences.push(divergence)
    this.options.onStopped(error)
    return error
  }
}

/**
 * True if the agent waits for the rest of an answer that the recorded run had abandoned. That rest
 * is unknown.
 */
export function isCutShort({ operation, parts, recorded, source }: PendingAnswer): boolean {
  const { event } = operation.action
  if (recorded === undefined || (event.type !== 'request' && event.type !== 'call')) return false
  if (event.type === 'call' && (event.kind === 'input' || event.kind === 'worker')) return false
  const last = parts.at(-1)
  return last === undefined || !endsAnswer(source.delivery(last))
}
