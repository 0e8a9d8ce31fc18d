import { natives } from '../natives.js'
import { AnswerQueue, type WaitingAnswer } from './answer-queue.js'
import { type Divergence, nameReceiver, otherBytes, waitsForever } from './divergence.js'
import { type NewDelivery, Operation } from '../sessions/session.js'
import { isJoined, recordedPart } from './source.js'
import type { TapeTimeline, RecordedOperation } from './timeline.js'
import type { DeliveryEvent, TimerEvent } from '@retake/tape/format'
import type { ContentMatcher } from './content-matcher.js'
import { hasWritten, type Written } from './compare.js'
import { seededDraws } from './draws.js'

/** A choice against the recorded order: `chosen` came although `passed` had come first then. */
export interface Swap {
  /** How many choices were made before this one. */
  readonly pick: number
  /** Numbers of recorded deliveries. */
  readonly chosen: number
  readonly passed: number
}

export interface OrderOptions {
  /** 0 is the recorded order. */
  readonly seed: number
  /** After this many choices the recorded order continues. */
  readonly picks?: number
}

/**
 * Chooses which of the answers that are ready comes next. Parts of one answer
 * stay in order, and so do timers by the time they are due. A timeout that came
 * too late to matter does not come earlier: that a slow answer can be given up on
 * is not a race. Nothing else about the order is certain in the world outside.
 */
export class DeliveryOrder {
  readonly swaps: Swap[] = []
  #picks = 0
  readonly #random: () => number

  constructor(readonly options: OrderOptions) {
    this.#random = seededDraws(`order ${options.seed}`)
  }

  /** Choices made so far. */
  get picks(): number {
    return this.#picks
  }

  choose(ready: readonly PendingAnswer[]): PendingAnswer | undefined {
    const first = ready.reduce<PendingAnswer | undefined>(
      (best, one) => (best === undefined || one.nextSeq < best.nextSeq ? one : best),
      undefined,
    )
    if (first === undefined) return undefined
    const { seed, picks = Number.POSITIVE_INFINITY } = this.options
    const pick = this.#picks
    this.#picks += 1
    if (seed === 0 || pick >= picks) return first
    const legal = withEarliestTimer(ready).filter((one) => one === first || !one.isLateTimeout)
    const chosen = legal[Math.floor(this.#random() * legal.length)] ?? first
    if (chosen !== first) this.swaps.push({ pick, chosen: chosen.nextSeq, passed: first.nextSeq })
    return chosen
  }
}

/** Of all timers only the one that is due first. */
function withEarliestTimer(ready: readonly PendingAnswer[]): PendingAnswer[] {
  const timers = ready.filter(({ isTimer }) => isTimer)
  const earliest = timers.reduce<PendingAnswer | undefined>(
    (best, one) => (best === undefined || one.due < best.due ? one : best),
    undefined,
  )
  return ready.filter((one) => !one.isTimer || one === earliest)
}

interface Started {
  readonly operation: Operation
  readonly work: PausedOperation | undefined
  /** The recorded requests before and after it in the same turn. */
  readonly requestBefore: RecordedOperation | undefined
  requestAfter: RecordedOperation | undefined
}

/** A program that has waited for this many timers in vain waits for ever. */
const LAST_RESORTS_MAX = 5000

/**
 * Timers and local work. They have no content that identifies them,
 * so they are matched when the turn they were started in is over: by how long they
 * wait, by the turn, and by the operations started with them, as a request with
 * its timeout.
 *
 * Only timers that fired in the recording fire, in the order they are due in a
 * virtual time. One that the recording does not have fires
 * when nothing else can happen, if one like it has fired then, and intervals tick
 * on beside it: a program may poll for something.
 */
export class TurnTimers {
  #started: Started[] = []
  #lastRequest: RecordedOperation | undefined
  #now = 0
  #lastResorts = 0
  readonly #unknown = new Set<PendingAnswer>()

  constructor(readonly index: ContentMatcher) {}

  add(operation: Operation, work?: PausedOperation): void {
    this.#started.push({
      operation,
      work,
      requestBefore: this.#lastRequest,
      requestAfter: undefined,
    })
  }

  /** A request was made in this turn; this is the recorded one. */
  noteRequest(recorded: RecordedOperation): void {
    this.#lastRequest = recorded
    for (const started of this.#started) started.requestAfter ??= recorded
  }

  /** The turn is over: operations started in it can be matched. */
  match(turn: number): PendingAnswer[] {
    const started = this.#started
    this.#started = []
    this.#lastRequest = undefined
    return started.map((one) => {
      const { operation, work } = one
      const recorded = this.#take(one, turn)
      const pending = new PendingAnswer(this.index.recorded, operation, recorded, {
        ...(work && { work }),
      })
      if (pending.isTimer) {
        pending.due = this.#now + msOf(operation)
        if (recorded === undefined) this.#unknown.add(pending)
      }
      return pending
    })
  }

  fired(pending: PendingAnswer): void {
    this.#now = Math.max(this.#now, pending.due)
    this.#unknown.delete(pending)
    if (kindOf(pending.operation) === 'interval') pending.due = this.#now + msOf(pending.operation)
    else pending.armed = false
  }

  /** It has no more recorded times: only intervals, and timers that nobody knows, may still fire. */
  isOver(pending: PendingAnswer): boolean {
    return !this.#unknown.has(pending) && kindOf(pending.operation) !== 'interval'
  }

  restart(pending: PendingAnswer | undefined): void {
    if (pending === undefined) return
    pending.armed = true
    pending.due = this.#now + msOf(pending.operation)
  }

  /** It waits for something that will not come in any time. */
  get goesOnForEver(): boolean {
    return this.#lastResorts >= LAST_RESORTS_MAX
  }

  /** When nothing else can happen. */
  lastResort(pending: readonly PendingAnswer[]): PendingAnswer | undefined {
    const unknown = pending.filter(
      (one) => this.#unknown.has(one) && this.#firedLike(one.operation),
    )
    if (unknown.length === 0 || this.goesOnForEver) return undefined
    this.#lastResorts += 1
    const intervals = pending.filter(
      (one) => one.isExhausted && one.parts.length > 0 && kindOf(one.operation) === 'interval',
    )
    return [...unknown, ...intervals].toSorted((a, b) => a.due - b.due)[0]
  }

  #take({ operation, ...lastRequest }: Started, turn: number): RecordedOperation | undefined {
    const { event } = operation.action
    const candidates = this.index.unused(event)
    const alike =
      event.type === 'timer'
        ? candidates.filter((one) => (one.event as TimerEvent).ms === event.ms)
        : candidates
    const found =
      alike.find((one) => isBeside(one, lastRequest)) ??
      alike.find((one) => one.turn === turn) ??
      alike[0] ??
      candidates.find((one) => one.turn === turn)
    if (found !== undefined) found.used = true
    return found
  }

  #firedLike(operation: Operation): boolean {
    const ms = msOf(operation)
    return this.index.recorded.operations.some(
      ({ event, parts }) =>
        event.type === 'timer' &&
        event.kind === kindOf(operation) &&
        parts.length > 0 &&
        event.ms <= ms * 2 &&
        event.ms * 2 >= ms,
    )
  }
}

/** True if the same request followed it in the recording, or preceded it where none followed. */
function isBeside(
  recorded: RecordedOperation,
  { requestBefore, requestAfter }: Pick<Started, 'requestBefore' | 'requestAfter'>,
): boolean {
  if (requestAfter !== undefined) return recorded.requestAfter === requestAfter.event.seq
  if (requestBefore === undefined || recorded.requestAfter !== undefined) return false
  return recorded.requestBefore === requestBefore.event.seq
}

const msOf = ({ action: { event } }: Operation): number => (event.type === 'timer' ? event.ms : 0)
const kindOf = ({ action: { event } }: Operation): string | undefined =>
  event.type === 'timer' ? event.kind : undefined

/** Work that really runs, but whose outcome waits until its turn is chosen. */
export class PausedOperation extends Operation {
  readonly outcomes: { readonly native: unknown }[] = []

  constructor(
    of: Operation,
    readonly onFinished: () => void,
  ) {
    super(of.id, of.action, of.session)
  }

  override complete(_event: unknown, _body?: Uint8Array, native?: unknown): void {
    this.outcomes.push({ native })
    this.onFinished()
  }
}

const LAST = Number.MAX_SAFE_INTEGER

/** An operation of the current run, with the part of its recorded answer that has not reached the agent. */
export class PendingAnswer implements WaitingAnswer {
  #next = 0
  /** Timers: it waits for its time. A timeout that has fired does not, until it is refreshed. */
  armed = true
  /** Timers: when it is due, in the time of the current run. */
  due = 0
  readonly parts: readonly number[]
  readonly work: PausedOperation | undefined
  readonly #writtenBefore: number

  constructor(
    readonly source: TapeTimeline,
    /** Parts reach the agent through this one. */
    readonly operation: Operation,
    /** Missing when the recording has nothing like it: timers and local work, which need no answer. */
    readonly recorded: RecordedOperation | undefined,
    options: {
      readonly parts?: readonly number[]
      readonly work?: PausedOperation
      /** Connections: bytes written before the agent began to wait for this. */
      readonly writtenBefore?: number
    } = {},
  ) {
    this.parts = options.parts ?? recorded?.parts ?? []
    this.work = options.work
    this.#writtenBefore = options.writtenBefore ?? 0
  }

  /** Work runs concurrently and reports when it is finished. */
  get isMade(): boolean {
    return this.work?.outcomes.length !== 0
  }

  get isTimer(): boolean {
    return this.operation.action.event.type === 'timer'
  }

  /** Number of the recorded delivery that is next. */
  get nextSeq(): number {
    return this.parts[this.#next] ?? LAST
  }

  /** Nothing more of it is on the tape. */
  get isExhausted(): boolean {
    return this.#next >= this.parts.length
  }

  /** A timer that fired too late to matter, as timeouts do when the answer has come. */
  get isLateTimeout(): boolean {
    return this.isTimer && !this.isExhausted && !this.source.hadEffect(this.nextSeq)
  }

  advance(): void {
    this.#next += 1
  }

  /** The rest is given up: the agent has moved on. */
  drop(): void {
    this.#next = this.parts.length
  }

  /** True if its next part could come now. Work is ready as soon as it runs. */
  isReady(): boolean {
    if (this.operation.closed) return false
    if (this.work !== undefined) return this.isExhausted ? this.work.outcomes.length > 0 : true
    if (this.isExhausted || !this.armed) return false
    return this.hasWritten(this.source.delivery(this.nextSeq)) !== 'less'
  }

  /** How much the agent has written to the connection or process, compared with when this part came. */
  hasWritten(event: DeliveryEvent): Written {
    return hasWritten(this.operation, event, {
      recorded: this.recorded?.written ?? 0,
      current: this.#writtenBefore,
    })
  }
}

export interface AnswerTurnsOptions {
  readonly recorded: TapeTimeline
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
 * Chooses the recorded part that comes next. Each begins a turn, which is known by the delivery
 * that it was in the recording.
 */
export class AnswerTurns extends AnswerQueue<PendingAnswer> {
  /** Chosen, and not with the agent yet: work that still runs. */
  #chosen: PendingAnswer | undefined
  #turn: number

  constructor(readonly options: AnswerTurnsOptions) {
    super()
    this.#turn = options.recorded.firstTurn
  }

  /** The one that the agent is in. */
  get turn(): number {
    return this.#turn
  }

  /** Operations without a full answer that have no more parts on the tape. */
  get unanswered(): readonly PendingAnswer[] {
    return this.waiting.filter(({ operation, isExhausted }) => !operation.closed && isExhausted)
  }

  find(operation: Operation): PendingAnswer | undefined {
    return this.waiting.find((one) => one.operation === operation)
  }

  restart(operation: Operation): void {
    this.options.timers.restart(this.find(operation))
    this.request()
  }

  /** A connection with a new request was not closed after its last answer. */
  dropEndOf(connection: Operation): void {
    for (const pending of this.waiting) {
      if (pending.operation !== connection || pending.isExhausted) continue
      const next = this.options.recorded.delivery(pending.nextSeq)
      if (next.type === 'deliver' && next.part !== 'chunk') pending.drop()
    }
  }

  /** A part reaches the agent: says which turn begins with it. */
  begin(operation: Operation, event: NewDelivery): number {
    this.#turn = event.from ?? -operation.id
    this.delivering(operation)
    return this.#turn
  }

  protected isOver(pending: PendingAnswer): boolean {
    if (!pending.isExhausted) return false
    return pending.isTimer
      ? this.options.timers.isOver(pending)
      : pending.operation.action.event.type === 'socket'
  }

  protected choose(): PendingAnswer | undefined {
    const { order, timers, isStopped } = this.options
    if (isStopped()) return undefined
    this.waiting.push(...timers.match(this.#turn))
    const { waiting } = this
    if (this.#chosen?.operation.closed === true) this.#chosen = undefined
    this.#chosen ??=
      order.choose(waiting.filter((one) => one.isReady())) ?? timers.lastResort(waiting)
    return this.#chosen
  }

  protected complete(pending: PendingAnswer): void {
    const { recorded, timers, stop } = this.options
    const { operation, work } = pending
    const seq = pending.isExhausted ? undefined : pending.nextSeq
    this.#chosen = undefined
    pending.advance()
    if (pending.isTimer) timers.fired(pending)
    if (seq === undefined || work !== undefined) {
      const native = work?.outcomes.shift()?.native
      const from = seq === undefined ? {} : { from: seq }
      operation.complete({ type: 'deliver', part: 'fire', ...from }, undefined, native)
      return
    }
    const first = recorded.delivery(seq)
    const written = pending.hasWritten(first)
    if (typeof written === 'object')
      return stop(otherBytes(first, nameReceiver(operation.action.event), written.otherDigest))
    for (let delivery = first; ; pending.advance()) {
      const { event, body } = recordedPart(recorded.tape, delivery)
      operation.complete(event, body)
      if (pending.isExhausted) return
      delivery = recorded.delivery(pending.nextSeq)
      if (!isJoined(delivery)) return
    }
  }

  protected patience(): NodeJS.Timeout | undefined {
    const { stallMs, keepAlive, isStopped, isClosed, recorded, stop } = this.options
    if (stallMs === undefined || isClosed() || isStopped()) return undefined
    const stall = natives.setTimeout(() => {
      if (!isClosed()) stop(waitsForever(this.unanswered, recorded.tape.count))
    }, stallMs)
    return keepAlive ? stall : stall.unref()
  }
}
