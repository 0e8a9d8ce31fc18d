import { natives } from '../kernel/natives.js'
import { AnswerQueue, type WaitingAnswer } from '../kernel/answer-queue.js'
import { type DivergenceFacts, otherBytes, waitsForever } from '../kernel/divergence.js'
import { type NewDelivery, Operation } from '../kernel/session.js'
import { isJoined, recordedPart } from '../kernel/source.js'
import { moduleLoadInFlight } from '../boundaries/module-loads.js'
import type { Mask } from '../kernel/mask.js'
import type { TapeTimeline, RecordedOperation } from '../kernel/timeline.js'
import type { DeliveryEvent, TimerEvent } from '@retake/tape/format'
import type { ContentMatcher } from './content-matcher.js'
import { hasWritten, type Written } from '../kernel/compare.js'
import { seededDraws } from '../kernel/draws.js'

/** A choice that deviates from the recorded order: `chosen` came before `passed`. */
export interface Swap {
  /** Number of choices made before this one. */
  readonly pick: number
  /** Numbers of recorded deliveries. */
  readonly chosen: number
  readonly passed: number
}

export interface OrderOptions {
  /** 0 means the recorded order. */
  readonly seed: number
  /** Number of choices after which the recorded order continues. */
  readonly picks?: number
}

/**
 * Chooses the next of the answers that are ready. Parts of one answer stay in order, and so do
 * timers, by their due time. A timeout that fired too late to matter does not fire earlier, because
 * abandoning a slow answer is not a race. Everything else may change its order, as it could
 * outside.
 */
export class DeliveryOrder {
  readonly swaps: Swap[] = []
  /** Choices made so far. */
  picks = 0
  readonly #random: () => number

  constructor(readonly options: OrderOptions) {
    this.#random = seededDraws(`order ${options.seed}`)
  }

  choose(ready: readonly PendingAnswer[]): PendingAnswer | undefined {
    const first = ready.reduce<PendingAnswer | undefined>(
      (best, one) => (best === undefined || one.nextSeq < best.nextSeq ? one : best),
      undefined,
    )
    if (first === undefined) return undefined
    const { seed, picks = Infinity } = this.options
    const pick = this.picks
    this.picks += 1
    if (seed === 0 || pick >= picks) return first
    const [timer] = ready.filter(({ isTimer }) => isTimer).toSorted((a, b) => a.due - b.due)
    const legal = ready
      .filter((one) => !one.isTimer || one === timer)
      .filter((one) => one === first || !one.isLateTimeout)
    const chosen = legal[Math.floor(this.#random() * legal.length)] ?? first
    if (chosen !== first) this.swaps.push({ pick, chosen: chosen.nextSeq, passed: first.nextSeq })
    return chosen
  }
}

interface Started {
  readonly operation: Operation
  readonly work: PausedOperation | undefined
  /** The recorded requests before and after it in the same turn. */
  readonly requestBefore: RecordedOperation | undefined
  requestAfter: RecordedOperation | undefined
}

/** Number of timers without progress after which a program counts as stalled. */
const LAST_RESORTS_MAX = 5000

/**
 * Timers and local work. They have no content that identifies them, so they are matched at the end
 * of the turn that started them: by delay, by turn, and by the operations started with them, such
 * as the request that a timeout belongs to. Only timers that fired in the recording fire, in the
 * order of their due times in virtual time. A timer that the recording does not have fires when
 * nothing else can happen, if a similar one fired in the recording. Intervals continue in the
 * meantime, because a program may poll.
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

  /** Notes the recorded counterpart of a request that was made in this turn. */
  noteRequest(recorded: RecordedOperation): void {
    this.#lastRequest = recorded
    for (const started of this.#started) started.requestAfter ??= recorded
  }

  /** Matches the operations that were started in the turn that ends. */
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

  /** True if a timer without further recorded times is over. Only intervals and unknown timers may still fire. */
  isOver(pending: PendingAnswer): boolean {
    return !this.#unknown.has(pending) && kindOf(pending.operation) !== 'interval'
  }

  refreshed(pending: PendingAnswer | undefined): void {
    if (pending === undefined) return
    pending.armed = true
    pending.due = this.#now + msOf(pending.operation)
  }

  /** True if the program waits for something that will never come. */
  get isStalled(): boolean {
    return this.#lastResorts >= LAST_RESORTS_MAX
  }

  /** Chooses a timer when nothing else can happen. */
  lastResort(pending: readonly PendingAnswer[]): PendingAnswer | undefined {
    const unknown = pending.filter(
      (one) => this.#unknown.has(one) && this.#firedLike(one.operation),
    )
    if (unknown.length === 0 || this.isStalled) return undefined
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

/** True if the same request followed it in the recording, or preceded it if none followed. */
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

/** Work that really runs, while its outcome waits until its turn is chosen. */
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

/** An operation of the current run, with the parts of its recorded answer that have not reached the agent. */
export class PendingAnswer implements WaitingAnswer {
  #next = 0
  /** For timers: true until the timer fires, and again after a refresh. */
  armed = true
  /** For timers: the due time, on the clock of the current run. */
  due = 0
  readonly parts: readonly number[]
  readonly work: PausedOperation | undefined
  readonly #writtenBefore: number

  constructor(
    readonly source: TapeTimeline,
    /** The operation through which parts reach the agent. */
    readonly operation: Operation,
    /** Undefined for timers and local work without a recorded counterpart, which need no answer. */
    readonly recorded: RecordedOperation | undefined,
    options: {
      readonly parts?: readonly number[]
      readonly work?: PausedOperation
      /** For connections: bytes written before the agent began to wait for this answer. */
      readonly writtenBefore?: number
    } = {},
  ) {
    this.parts = options.parts ?? recorded?.parts ?? []
    this.work = options.work
    this.#writtenBefore = options.writtenBefore ?? 0
  }

  /** Starts work, which runs concurrently and reports when it is finished. */
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

  /** True if the tape has no more parts of this answer. */
  get isExhausted(): boolean {
    return this.#next >= this.parts.length
  }

  /** True for a timer that fired too late to matter, such as a timeout after the answer. */
  get isLateTimeout(): boolean {
    return this.isTimer && !this.isExhausted && !this.source.acted.has(this.nextSeq)
  }

  advance(): void {
    this.#next += 1
  }

  /** Drops the rest, because the agent has moved on. */
  drop(): void {
    this.#next = this.parts.length
  }

  /** True if its next part could be delivered now. Work is ready as soon as it runs. */
  isReady(): boolean {
    if (this.operation.closed) return false
    if (this.work !== undefined) return this.isExhausted ? this.work.outcomes.length > 0 : true
    if (this.isExhausted || !this.armed) return false
    return this.hasWritten(this.source.delivery(this.nextSeq)) !== 'less'
  }

  /**
   * Compares the bytes that the agent has written to the connection or process with those written
   * when this part came.
   */
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
  /** True if nothing more is answered. */
  readonly isStopped: () => boolean
  readonly isClosed: () => boolean
  readonly secrets: () => Mask
  readonly stop: (divergence: DivergenceFacts) => void
  /** Milliseconds after which an agent that makes no progress is stopped; never if undefined. */
  readonly stallMs: number | undefined
  /** Keeps the process alive until a stall is detected. */
  readonly keepAlive: boolean
}

/**
 * Chooses the next recorded part. Each part begins a turn, which is identified by its recorded
 * delivery.
 */
export class AnswerTurns extends AnswerQueue<PendingAnswer> {
  /** Chosen work that is still running, and so has not reached the agent. */
  #chosen: PendingAnswer | undefined
  turn: number

  constructor(readonly options: AnswerTurnsOptions) {
    super(() => !moduleLoadInFlight())
    this.turn = options.recorded.firstTurn
  }

  /** Operations without a complete answer that have no more parts on the tape. */
  get unanswered(): readonly PendingAnswer[] {
    return this.waiting.filter(({ operation, isExhausted }) => !operation.closed && isExhausted)
  }

  find(operation: Operation): PendingAnswer | undefined {
    return this.waiting.find((one) => one.operation === operation)
  }

  refreshed(operation: Operation): void {
    this.options.timers.refreshed(this.find(operation))
    this.request()
  }

  /** Drops the close of a connection that carries a new request. */
  dropEndOf(connection: Operation): void {
    for (const pending of this.waiting) {
      if (pending.operation !== connection || pending.isExhausted) continue
      const next = this.options.recorded.delivery(pending.nextSeq)
      if (next.type === 'deliver' && next.part !== 'chunk') pending.drop()
    }
  }

  /** Called when a part reaches the agent. Returns the turn that it begins. */
  begin(operation: Operation, event: NewDelivery): number {
    this.turn = event.from ?? -operation.id
    this.delivering(operation)
    return this.turn
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
    this.waiting.push(...timers.match(this.turn))
    const { waiting } = this
    if (this.#chosen?.operation.closed === true) this.#chosen = undefined
    this.#chosen ??=
      order.choose(waiting.filter((one) => one.isReady())) ?? timers.lastResort(waiting)
    return this.#chosen
  }

  protected complete(pending: PendingAnswer): void {
    const { recorded, timers, stop, secrets } = this.options
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
      return stop(otherBytes(operation.action.event, first, written.otherDigest))
    for (let delivery = first; ; pending.advance()) {
      const { event, body } = recordedPart(recorded.tape, delivery, secrets())
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
