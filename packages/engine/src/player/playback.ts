import {
  type BodyForm,
  type DeliveryEvent,
  type DrawEvent,
  type EnvironmentRead,
  hasReadsOnly,
  type InitiationEvent,
  isDelivery,
  type OutputEvent,
  readsOf,
  recordError,
  type Tape,
  type TapeEvent,
} from '@retake/tape/format'
import { errors, ReplayDiverged, type RetakeError } from '../errors.js'
import { natives } from '../natives.js'
import { hasFlag } from '../recorder-flags.js'
import { outsideRuns, sessionClosed, sessionOpened } from '../scope.js'
import { isStructural, redactionOf } from '../redaction/redacted-tape.js'
import { SecretMask } from '../secrets.js'
import { environmentFrom, type ServedEnvironment } from '../environment.js'
import { ServedFiles } from '../served-files.js'
import {
  describe,
  type Divergence,
  DivergenceLog,
  type Leave,
  LeftTape,
  nameReceiver,
} from './divergence.js'
import type { RunEnd } from '../sessions/record-session.js'
import { SequenceMatcher } from './sequence-matcher.js'
import {
  type Action,
  type Delivery,
  EMPTY,
  type NewDelivery,
  Operation,
  type Session,
  type SyncCall,
} from '../sessions/session.js'
import { TolerantDraws } from './draws.js'
import { TapeCursor } from './timeline.js'
import { moduleLoadInFlight } from '../module-loads.js'
import { Gate, type Turn } from '../sessions/gate.js'

/**
 * Hands the recorded deliveries to the agent, each in its turn and no earlier than
 * the agent has done what it had done by then. Notices when it waits for one that
 * will never be due.
 */
class RecordedDeliveries {
  closed = false
  /** Operations without a full answer, by their event. */
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
    readonly options: PlaybackOptions,
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

  /** Operations without a full answer, in the order they were started. */
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

  /** Requests a turn if a delivery is next on the tape. */
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
        return { operation, deliveries: this.#joinedDeliveries(operation, event) }
      }
    } catch (error) {
      // There is no agent frame here to throw it into.
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
      yield { event, body: this.tape.body(event.seq), native }
      event = this.cursor.peek()
    } while (event?.type === 'deliver' && event.joined === true && event.op === first.op)
  }

  /** Re-executed work must have finished, and the agent must have written as much as it had written then. */
  #isDue(operation: Operation, event: DeliveryEvent): boolean {
    if (operation.action.reexecuted === true) return operation.finished !== undefined
    if (event.type !== 'deliver' || event.written === undefined) return true
    const stamp = operation.action.stamp?.()
    if (stamp === undefined || stamp.written < event.written) return false
    const isExact = stamp.written === event.written
    const digest = isExact ? stamp.digest : operation.action.digestAt?.(event.written)
    if (digest !== undefined && digest !== event.digest && !isStructural(this.tape)) {
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

  /** `onStopped` has been called already. */
  #report(error: unknown): void {
    if (error instanceof LeftTape) this.options.onLeft?.(error.why)
    else if (!(error instanceof ReplayDiverged)) throw error
  }
}

/**
 * Notices when a replay makes no progress: a program that waits for something the
 * tape will never deliver would otherwise hang for ever.
 */
function watchForStall(options: {
  readonly stallMs: number
  /** Keeps the process alive while it watches. */
  readonly keepAlive: boolean
  /** A number that changes while there is progress; undefined while waiting is legitimate. */
  readonly progress: () => number | undefined
  readonly onStall: () => void
}): { stop(): void } {
  let seen: number | undefined
  const timer = natives.setInterval(() => {
    const progress = options.progress()
    if (progress === undefined || progress !== seen) {
      seen = progress
      return
    }
    natives.clearInterval(timer)
    options.onStall()
  }, options.stallMs / 2)
  if (!options.keepAlive) timer.unref()
  return { stop: () => natives.clearInterval(timer) }
}

/**
 * Serves the agent from the tape, in the recorded order, and checks that it does
 * exactly the same as in the recording. There is no way from here to the outside.
 *
 * `SequenceMatcher` compares what the agent does, `RecordedDeliveries` hands out the
 * answers; both move the one cursor along the tape.
 */
export class Playback implements Session {
  readonly local = 'tape'
  readonly remote = 'tape'
  /** Served and re-executed operations, for receipts. */
  readonly counts = { served: 0, reexecuted: 0 }
  readonly secrets: SecretMask
  readonly environment: ServedEnvironment | undefined
  readonly files: ServedFiles
  readonly #cursor: TapeCursor
  readonly #log: DivergenceLog
  readonly #matcher: SequenceMatcher
  readonly #draws: TolerantDraws | undefined
  readonly #ignoresOutput: boolean
  readonly #deliveries: RecordedDeliveries
  /** Operations that the tape does not have, in observe mode. */
  #unknown = 0
  readonly #owner: Session
  /** Older tapes have no events for what was written to children. */
  readonly #comparesWrites: boolean

  constructor(
    readonly tape: Tape,
    readonly options: PlaybackOptions,
  ) {
    const comparesRequests = options.compares === 'requests'
    const ignoresOutput = comparesRequests || options.output === 'ignore'
    const cursor = new TapeCursor(tape, {
      ...(options.until !== undefined && { until: options.until }),
      passes: ({ type }) =>
        (type === 'output' && ignoresOutput) || (type === 'draw' && comparesRequests),
    })
    this.#draws = comparesRequests ? new TolerantDraws(tape) : undefined
    this.#ignoresOutput = ignoresOutput
    const log = new DivergenceLog(cursor, options)
    this.#cursor = cursor
    this.#log = log
    this.#owner = options.owner ?? this
    this.#comparesWrites = hasFlag(tape.run.flags, 'child-writes')
    this.secrets = new SecretMask(tape.run.flags)
    this.secrets.digestKey = redactionOf(tape)?.key.derive('digests')
    this.secrets.addEnvironment(natives.env)
    this.files = new ServedFiles({
      secrets: this.secrets,
      isContinued: options.leave !== undefined,
    })
    this.environment = hasReadsOnly(tape.run) ? this.#servedEnvironment() : undefined
    sessionOpened(this.#owner)
    const deliveries = new RecordedDeliveries(tape, cursor, log, {
      ...options,
      beforeDelivery: (event) => {
        this.#draws?.begin(event.seq)
        options.beforeDelivery?.(event)
      },
    })
    this.#deliveries = deliveries
    this.#matcher = new SequenceMatcher(tape, {
      tolerance: this.#draws,
      cursor,
      log,
      secrets: this.secrets,
      onAdvanced: () => deliveries.schedule(),
      afterInitiation: options.afterInitiation,
    })
  }

  get flags(): readonly string[] {
    return this.tape.run.flags
  }

  get closed(): boolean {
    return this.#deliveries.closed
  }

  get divergences(): readonly Divergence[] {
    return this.#log.divergences
  }

  /** The variables and files for which the program got a placeholder instead of a secret. */
  get placeholders(): readonly string[] {
    return [...(this.environment?.placeholders ?? []), ...this.files.placeholders]
  }

  /** Number of events consumed so far. */
  get position(): number {
    return this.#cursor.seq
  }

  /** Operations without a full answer, in the order they were started. */
  get underWay(): readonly Operation[] {
    return this.#deliveries.underWay
  }

  /** Every event of the tape was consumed, and the tape was cut off there. */
  get cutOff(): boolean {
    return this.#cursor.isCut && this.#cursor.peek() === undefined
  }

  draw<T>(kind: string, native: () => T): T {
    if (this.#draws !== undefined) return this.closed ? native() : this.#draws.take(kind, native)
    const event = this.#isOver() ? undefined : this.#matcher.draw(kind)
    if (event === undefined) return native()
    this.options.afterDraw?.(event)
    return event.value as T
  }

  drawAhead<T>(kind: string, native: () => T): T {
    return this.draw(kind, native)
  }

  perform(action: Action): Operation {
    let event: InitiationEvent | undefined
    try {
      event = this.#isOver() ? undefined : this.#matcher.take(action)
    } catch (error) {
      if (!(error instanceof ReplayDiverged)) throw error
      // Reported through onStopped. The program gets no answer any more, and no error
      // either: nobody may catch it, and the program is not at fault.
      return new Operation(-++this.#unknown, action, this.#owner, 'tape')
    }
    const operation = new Operation(event?.seq ?? -++this.#unknown, action, this.#owner, 'tape')
    if (event === undefined) this.#performUnknown(operation)
    else if (action.reexecuted === true) {
      this.#deliveries.expectWork(operation)
      this.counts.reexecuted += 1
      outsideRuns(() => action.start(operation))
    } else {
      this.#deliveries.expect(operation)
      this.counts.served += 1
    }
    return operation
  }

  performSync(call: SyncCall): Delivery {
    const initiation = this.#isOver() ? undefined : this.#matcher.take(call)
    if (initiation === undefined) throw errors.NOT_ON_TAPE(describe(call.event))
    const event = this.#matcher.answerTo(initiation, call.event)
    this.counts.served += 1
    this.options.beforeDelivery?.(event)
    return { event, body: this.tape.body(event.seq) }
  }

  output(stream: OutputEvent['stream'], bytes: Uint8Array): void {
    if (this.#isOver() || this.#ignoresOutput) return
    this.#matcher.output(stream, bytes)
  }

  write(operation: Operation, bytes: Uint8Array, as?: BodyForm): void {
    if (!this.#comparesWrites) return this.proceed()
    if (!this.#isOver()) this.#matcher.write(operation, bytes, as)
  }

  refuse(error: RetakeError): void {
    if (this.#isOver()) throw error
    this.#log.refuse(error)
  }

  note(): void {
    // Notes were written by the recording; they are not part of what is compared.
  }

  proceed(): void {
    this.#deliveries.schedule()
  }

  /** Re-executed work is finished and waits for its turn; work that the tape does not have needs none. */
  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void {
    if (operation.id < 0)
      natives.setImmediate(() => operation.closed || operation.deliver({ event, body, native }))
    else this.#deliveries.workFinished(operation, native)
  }

  forget(operation: Operation): void {
    this.#deliveries.forget(operation)
  }

  restart(operation: Operation): void {
    this.#deliveries.expect(operation)
  }

  /** The program is over: everything recorded must have happened, and come to the same end. */
  finish(end: RunEnd): void {
    if (this.closed) return
    this.#matcher.end(end)
    this.close()
  }

  close(): void {
    if (this.closed) return
    this.#deliveries.close()
    sessionClosed(this.#owner, this.remote)
  }

  /** A variable is on the tape where it was first read, which is here unless the code has changed. */
  #servedEnvironment(): ServedEnvironment {
    const { tape, secrets, options } = this
    const passed = new Map<string, EnvironmentRead>()
    this.#cursor.onEnvironment = (seq) => {
      for (const read of readsOf(tape, seq).reads) passed.set(read.name, read)
    }
    return environmentFrom(tape, {
      secrets,
      isContinued: options.leave !== undefined,
      until: options.until,
      look: (name) => {
        if (!passed.has(name)) this.#cursor.peek()
        return passed.get(name)
      },
    })
  }

  /** In observe mode or after the run: something the tape does not have. Timers and local work just run; what needs the outside fails. */
  #performUnknown(operation: Operation): void {
    const { event } = operation.action
    if (event.type === 'timer' || event.type === 'work') {
      outsideRuns(() => operation.action.start(operation))
      return
    }
    const error = recordError(errors.NOT_ON_TAPE(describe(event)))
    const answer: NewDelivery = ANSWERED_BY_RESULT.has(event.type === 'call' ? event.kind : '')
      ? { type: 'result', error }
      : { type: 'deliver', part: 'error', error }
    this.completed(operation, answer, EMPTY, undefined)
  }

  /** The run has ended, but something it left behind continues. After a divergence nothing does. */
  #isOver(): boolean {
    if (this.#log.stopped) throw this.#log.stopped
    return this.closed
  }
}

/** Calls with one answer; processes, threads and streams have parts. */
const ANSWERED_BY_RESULT = new Set(['tool', 'file', 'dns', 'database'])

/** How a tape is replayed, with its callbacks. */
export interface PlaybackOptions {
  /** `strict` stops at the first difference; `observe` reports every one and continues. */
  readonly mode?: 'strict' | 'observe'
  /** `full` delivers as fast as possible; `recorded` preserves the recorded gaps. */
  readonly pace?: 'full' | 'recorded'
  /** `ignore` does not compare what is written to stdout and stderr. */
  readonly output?: 'compare' | 'ignore'
  /** `requests`: output is not compared, and drawn values may be more, fewer or others. */
  readonly compares?: 'everything' | 'requests'
  /** Called for each divergence as it is found. */
  readonly onDivergence?: (divergence: Divergence) => void
  /** The replay cannot go on: the first divergence in strict mode, a stall, or the end of a cut-off tape. */
  readonly onStopped: (error: ReplayDiverged) => void
  /** Milliseconds without progress after which a silent program counts as diverged. */
  readonly stallMs?: number
  /** Keeps the process alive while it waits for a stall to show. */
  readonly keepAlive?: boolean
  /** The first event that is not served: the tape counts as cut off there. */
  readonly until?: number
  /** The session that boundaries see, when this one is part of another. */
  readonly owner?: Session
  /** When the owner goes live. A call that reaches this point throws `LeftTape`; without one, `onLeft` is called. */
  readonly leave?: Leave
  readonly onLeft?: (why: Divergence | undefined) => void
  /** Called just before each delivery reaches the agent; it may block the thread to inspect it. */
  readonly beforeDelivery?: (event: DeliveryEvent) => void
  /** Called for each matched initiation, on the agent's own stack. */
  readonly afterInitiation?: (event: InitiationEvent) => void
  /** Called for each served value, on the agent's own stack. */
  readonly afterDraw?: (event: DrawEvent) => void
}
