import {
  type BodyForm,
  type DrawEvent,
  type EnvironmentRead,
  type InitiationEvent,
  type NewEvent,
  type NoteEvent,
  type OutputEvent,
  readsOf,
  type RetakeError,
  type Tape,
} from '@retake/tape/format'
import { kernelErrors } from './errors.js'
import type { Environment, FileSecrets, Machine, ServedVariables } from './machine.js'
import type { Mask } from './mask.js'
import { natives } from './natives.js'
import { outsideRuns, sessionClosed, sessionOpened } from './scope.js'
import type { RecordSession, RunEnd } from './record-session.js'
import {
  type Action,
  type Delivery,
  type DrawOptions,
  EMPTY,
  type NewDelivery,
  Operation,
  type Recording,
  type Session,
  type Source,
  type SyncCall,
} from './session.js'
import { type DivergenceFacts, DivergenceLog, nameOf } from './divergence.js'
import { type Leave, LeftTape } from './go-live.js'
import { TolerantDraws } from './draws.js'
import { RecordedDeliveries, type RecordedDeliveriesOptions } from './recorded-deliveries.js'
import { SequenceMatcher } from './sequence-matcher.js'
import { type AnswerSource, errorAnswer, hasSingleAnswer } from './source.js'
import { TapeCursor } from './timeline.js'

export interface PlayerOptions extends Omit<RecordedDeliveriesOptions, 'onLeft'> {
  readonly mask: Mask
  readonly machine: Machine
  /** `strict` stops at the first difference; `observe` reports every one and continues. */
  readonly mode?: 'strict' | 'observe'
  /** `ignore` does not compare what is written to stdout and stderr. */
  readonly output?: 'compare' | 'ignore'
  /** `requests`: output and drawn values are not compared. */
  readonly compares?: 'everything' | 'requests'
  readonly onDivergence?: (divergence: DivergenceFacts) => void
  /** Makes the error that ends the replay. */
  readonly errorFor: (divergence: DivergenceFacts) => RetakeError
  /**
   * Called if the replay cannot continue: at the first divergence in strict mode, on a stall, or at
   * the end of a cut-off tape.
   */
  readonly onStopped: (error: RetakeError) => void
  /** Called for each matched initiation, on the agent's own stack. */
  readonly afterInitiation?: (event: InitiationEvent) => void
  /** Called for each served value, on the agent's own stack. */
  readonly afterDraw?: (event: DrawEvent) => void
  /** Leads from the tape to the outside. A replay has none. */
  readonly continuation?: Continuation
}

/** Where a run leaves its tape, and how it goes live there. */
export interface Continuation {
  /**
   * `at the end` goes live at `until`, without waiting for a call. `on mismatch` also does so at
   * the first difference or stall.
   */
  readonly leave: Leave
  /** The first event that is not served; the end of the tape by default. */
  readonly until?: number
  readonly overlay?: Session['overlay']
  /** True if the run is resumed, on its own tape or as a branch of it. */
  readonly isResume: boolean
  /** True if today's code runs, so that a guard decides by its policy, not by the tape. */
  readonly isRerun: boolean
  /**
   * Called when the tape is left. Opens the session that records and answers from then on: on the
   * same tape if a killed run is resumed there, otherwise on a branch. `at` is the number of events
   * served.
   */
  readonly goLive: (at: number, owner: Session) => Live
  readonly rules?: LeavingRules | undefined
  /** Called if the run could not go live; nothing more may happen then. */
  readonly onFailed: (error: unknown) => void
}

/** Rules for everything that leaves the process after the tape, whichever tail made it live. */
export interface LeavingRules {
  /** The action, with the rules applied to everything that it sends. */
  watched(action: Action): Action
  watchedCall(call: SyncCall): SyncCall
  /** Called for each performed operation. */
  performed(operation: Operation): void
}

/** The part of a run after its tape. */
export interface Live {
  readonly recorder: RecordSession
  readonly tail: Tail
}

/**
 * Answers the agent after the tape was left: from outside (`HandOver`), with recorded answers where
 * requests are identical or pinned (`PinnedSource`), or from the tape only (`TapeSource`, offline).
 * A live run is recorded again; its answers do not always come from outside.
 */
export interface Tail {
  readonly source: AnswerSource
  /**
   * Decides what becomes of an operation that is in progress when the tape is left. The returned
   * function does it. Until it is called, nothing is sent or delivered, so a decision may throw.
   */
  prepare(operation: Operation, recorder: RecordSession): () => void
  /** Answers a synchronous call whose start is the last event of the tape. */
  answerSync(op: number, call: SyncCall, recorder: RecordSession): Delivery
}

/**
 * Serves the agent from a tape, in the recorded order, and checks that it does exactly the same as
 * in the recording. A cursor points to the event that must happen next. `SequenceMatcher` compares
 * it with what the agent does. If it is a delivery, `RecordedDeliveries` hands it out to the
 * operation with the number `op`. So a delivery waits for everything that the agent had done before
 * it. Only three things are searched: events in observe mode; drawn values, by turn, if only
 * requests are compared; and variables, on the whole tape.
 *
 * A replay has no access to the outside. Resume, fork and rerun have a `Continuation`: where the
 * tape is left, a `RecordSession` takes over, once. Boundaries see the same session throughout, so
 * that resources opened while served stay valid when live.
 */
export class Player implements Session {
  /** Served and re-executed operations, for receipts. */
  readonly counts = { served: 0, reexecuted: 0 }
  readonly overlay: Session['overlay']
  readonly files: FileSecrets
  readonly #secrets: Mask
  readonly #environment: ServedVariables
  readonly #cursor: TapeCursor
  readonly #log: DivergenceLog
  readonly #matcher: SequenceMatcher
  readonly #draws: TolerantDraws | undefined
  readonly #ignoresOutput: boolean
  readonly #deliveries: RecordedDeliveries
  /** Operations that the tape does not have, in observe mode. */
  #unknown = 0
  #live: Live | undefined
  #calls: ReadonlySet<string> | undefined
  #recording: Recording | undefined
  /** The mismatch that ended the served part, if any. */
  left: DivergenceFacts | undefined
  /** Monotonic time at which the run went live. */
  liveSinceMs: number | undefined

  constructor(
    readonly tape: Tape,
    readonly options: PlayerOptions,
  ) {
    const { continuation, ...replaying } = options
    const comparesRequests = options.compares === 'requests'
    const ignoresOutput = comparesRequests || options.output === 'ignore'
    const cursor = new TapeCursor(tape, {
      until: continuation?.until,
      passes: ({ type }) =>
        (type === 'output' && ignoresOutput) || (type === 'draw' && comparesRequests),
    })
    this.#draws = comparesRequests ? new TolerantDraws(tape) : undefined
    this.#ignoresOutput = ignoresOutput
    const log = new DivergenceLog(cursor, { ...replaying, leave: continuation?.leave })
    this.#cursor = cursor
    this.#log = log
    this.#secrets = options.mask
    this.overlay = continuation?.overlay
    const isContinued = continuation !== undefined
    this.files = options.machine.servedFiles(isContinued)
    this.#environment = this.#servedEnvironment()
    sessionOpened(this)
    const deliveries = new RecordedDeliveries(tape, cursor, log, {
      ...replaying,
      beforeDelivery: (event) => {
        this.#draws?.begin(event.seq)
        options.beforeDelivery?.(event)
      },
      ...(isContinued && { onLeft: (why) => void this.#leave(why) }),
    })
    this.#deliveries = deliveries
    this.#matcher = new SequenceMatcher(tape, {
      tolerance: this.#draws,
      cursor,
      log,
      secrets: this.#secrets,
      onAdvanced: () => deliveries.schedule(),
      afterInitiation: options.afterInitiation,
    })
  }

  get closed(): boolean {
    return this.#live?.recorder.closed ?? this.#deliveries.closed
  }

  get local(): Source {
    return this.#live?.recorder.local ?? 'tape'
  }

  get remote(): Source {
    return this.#live?.recorder.remote ?? 'tape'
  }

  get secrets(): Mask {
    return this.#live?.recorder.secrets ?? this.#secrets
  }

  get environment(): Environment | undefined {
    return this.#live ? this.#live.recorder.environment : this.#environment
  }

  get recording(): Recording | undefined {
    const recording = this.#live?.recorder.recording
    if (recording === undefined) return undefined
    const { tape, position: at, options } = this
    const isResume = options.continuation?.isResume === true
    this.#recording ??= { ...recording, continues: { tape, at, isResume } }
    return this.#recording
  }

  /** Number of events served so far. */
  get position(): number {
    return this.#cursor.seq
  }

  get isLive(): boolean {
    return this.#live !== undefined
  }

  get divergences(): readonly DivergenceFacts[] {
    return [...this.#log.divergences, ...(this.#live?.recorder.divergences ?? [])]
  }

  /** The variables and files for which the program got a placeholder instead of a secret. */
  get placeholders(): readonly string[] {
    return [...(this.#environment?.placeholders ?? []), ...this.files.placeholders]
  }

  /** True if everything was served of a tape that was cut off, or that the plan leaves early. */
  get cutOff(): boolean {
    return this.#cursor.isCut && this.#cursor.peek() === undefined
  }

  draw<T>(kind: string, native: () => T, options?: DrawOptions<T>): T {
    return this.#serveOrGoLive(
      () => this.#serveDraw(kind, native, options),
      ({ recorder }) => recorder.draw(kind, native, this.#drawOptions(options)),
    )
  }

  expectsDraw(kind: string): boolean {
    const next = this.isLive ? undefined : this.#cursor.peek()
    return this.isLive || (next?.type === 'draw' && next.kind === kind)
  }

  recordedCalls(): ReadonlySet<string> {
    return (this.#calls ??= new Set(
      [...this.tape.events()].flatMap((event) => (event.type === 'call' ? [event.name] : [])),
    ))
  }

  drawAhead<T>(kind: string, native: () => T, options?: DrawOptions<T>): T {
    return this.#serveOrGoLive(
      () => this.#serveDraw(kind, native, options),
      ({ recorder }) => recorder.drawAhead(kind, native, this.#drawOptions(options)),
    )
  }

  perform(given: Action): Operation {
    const rules = this.options.continuation?.rules
    const action = rules?.watched(given) ?? given
    const operation = this.#serveOrGoLive(
      () => this.#serve(action),
      ({ recorder }) => recorder.perform(action),
    )
    rules?.performed(operation)
    return operation
  }

  performSync(given: SyncCall): Delivery {
    const call = this.options.continuation?.rules?.watchedCall(given) ?? given
    return this.#serveOrGoLive(
      () => this.#serveSync(call),
      ({ recorder, tail }, op) =>
        op === undefined ? recorder.performSync(call) : tail.answerSync(op, call, recorder),
    )
  }

  output(stream: OutputEvent['stream'], bytes: Uint8Array): void {
    this.#serveOrGoLive(
      () => this.#isOver() || this.#ignoresOutput || this.#matcher.output(stream, bytes),
      ({ recorder }) => recorder.output(stream, bytes),
    )
  }

  write(operation: Operation, bytes: Uint8Array, as?: BodyForm): void {
    this.#serveOrGoLive(
      () => {
        if (!this.#isOver()) this.#matcher.write(operation, bytes, as)
      },
      ({ recorder }) => recorder.write(operation, bytes, as),
    )
  }

  commit(): void {
    this.#live?.recorder.commit()
  }

  /** No-op once live. */
  refuse(error: RetakeError, { mayGoLive } = { mayGoLive: true }): void {
    const { continuation } = this.options
    if (!mayGoLive && continuation !== undefined && !this.isLive) {
      continuation.onFailed(error)
      throw error
    }
    this.#serveOrGoLive(
      () => {
        if (this.#isOver()) throw error
        this.#log.refuse(error)
      },
      () => {},
    )
  }

  /** Ignores notes of the served part, which the recording already has. */
  note(note: Omit<NewEvent<NoteEvent>, 'type'>, body?: Uint8Array): void {
    this.#live?.recorder.note(note, body)
  }

  attach(name: string, body: Uint8Array, isDurable?: boolean): number {
    return this.#live?.recorder.attach(name, body, isDurable) ?? -1
  }

  proceed(): void {
    if (this.#live) this.#live.recorder.proceed()
    else this.#deliveries.schedule()
  }

  /** Queues finished re-executed work for its turn; an operation that is not on the tape has none. */
  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void {
    if (this.#live) this.#live.recorder.completed(operation, event, body, native)
    else if (operation.id < 0)
      natives.setImmediate(() => operation.closed || operation.deliver({ event, body, native }))
    else this.#deliveries.workFinished(operation, native)
  }

  forget(operation: Operation): void {
    this.#deliveries.forget(operation)
  }

  refreshed(operation: Operation): void {
    if (this.#live) this.#live.recorder.refreshed(operation)
    else this.#deliveries.expect(operation)
  }

  childTask(...child: Parameters<NonNullable<Session['childTask']>>) {
    return this.#live?.recorder.childTask(...child)
  }

  /**
   * Called at the end of the program. A served run must have done everything recorded and ended in
   * the same way; a live one gets an end and a seal.
   */
  finish(end: RunEnd): void {
    if (this.closed) return
    const { continuation } = this.options
    // The program ends where its served part does. The tape still gets an end and a seal.
    if (continuation !== undefined && !this.isLive && this.cutOff) this.#leave(undefined)
    this.#serveOrGoLive(
      () => {
        this.#matcher.end(end)
        this.close()
      },
      ({ recorder }) => recorder.finish(end),
    )
  }

  close(): void {
    this.#stopServing()
    this.#live?.recorder.close()
  }

  // ── served ────────────────────────────────────────────────────────────────

  #serveDraw<T>(kind: string, native: () => T, options?: DrawOptions<T>): T {
    if (this.#draws !== undefined) return this.closed ? native() : this.#draws.take(kind, native)
    const isChecked = this.options.continuation?.leave === 'on mismatch'
    const event = this.#isOver()
      ? undefined
      : this.#matcher.draw(kind, isChecked ? options?.isOutdated : undefined)
    if (event === undefined) return native()
    this.options.afterDraw?.(event)
    return event.value as T
  }

  /** Removes the check for outdated values, which only applies to a rerun. */
  #drawOptions<T>(options?: DrawOptions<T>): DrawOptions<T> | undefined {
    if (options === undefined || this.options.continuation?.isRerun === true) return options
    const { isOutdated: _, ...others } = options
    return others
  }

  #serve(action: Action): Operation {
    let event: InitiationEvent | undefined
    try {
      event = this.#isOver() ? undefined : this.#matcher.take(action)
    } catch (error) {
      if (error !== this.#log.stopped) throw error
      // Already reported through onStopped. The program gets no answer and no error: it could catch
      // the error and continue in a way that the recorded run did not.
      return new Operation(-++this.#unknown, action, this, 'tape')
    }
    const operation = new Operation(event?.seq ?? -++this.#unknown, action, this, 'tape')
    if (event === undefined) this.#serveUnknown(operation)
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

  #serveSync(call: SyncCall): Delivery {
    const initiation = this.#isOver() ? undefined : this.#matcher.take(call)
    if (initiation === undefined) throw kernelErrors.NOT_ON_TAPE(nameOf(call.event))
    const event = this.#matcher.answerTo(initiation, call.event)
    this.counts.served += 1
    this.options.beforeDelivery?.(event)
    const { given } = this.#secrets
    return { event: given.event(event), body: given.body(this.tape, event.seq) }
  }

  /**
   * Starts an operation that is not on the tape, in observe mode or after the run. Timers and local
   * work run; anything that needs the outside fails.
   */
  #serveUnknown(operation: Operation): void {
    const { event } = operation.action
    if (event.type === 'timer' || event.type === 'work') {
      outsideRuns(() => operation.action.start(operation))
      return
    }
    const answer = errorAnswer(hasSingleAnswer(event), kernelErrors.NOT_ON_TAPE(nameOf(event)))
    this.completed(operation, answer, EMPTY, undefined)
  }

  /**
   * The recorded variables. A variable is on the tape where the program first read it, so usually
   * the cursor has just passed it. If the code has changed, the whole tape is searched.
   */
  #servedEnvironment(): ServedVariables {
    const { tape, options } = this
    const passed = new Map<string, EnvironmentRead>()
    this.#cursor.onEnvironment = (seq) => {
      for (const read of readsOf(tape, seq).reads) passed.set(read.name, read)
    }
    return options.machine.servedVariables(tape, {
      isContinued: options.continuation !== undefined,
      until: options.continuation?.until,
      look: (name) => {
        if (!passed.has(name)) this.#cursor.peek()
        return passed.get(name)
      },
    })
  }

  /** True if the run has ended, although some of its work may continue. Throws after a divergence. */
  #isOver(): boolean {
    if (this.#log.stopped) throw this.#log.stopped
    return this.closed
  }

  #stopServing(): void {
    if (this.#deliveries.closed) return
    this.#deliveries.close()
    sessionClosed(this, 'tape')
  }

  // ── from served to live ───────────────────────────────────────────────────

  /**
   * Serves a call from the tape. If the tape has to be left instead, goes live and makes the call
   * there. `answering`: the event of a call that the tape has without its answer.
   */
  #serveOrGoLive<T>(serve: () => T, make: (live: Live, answering?: number) => T): T {
    if (this.#live !== undefined) return make(this.#live)
    try {
      return serve()
    } catch (error) {
      if (!(error instanceof LeftTape)) throw error
      const { why, answering } = error
      return make(this.#leave(why.kind === 'cut-off' ? undefined : why), answering)
    }
  }

  #leave(why: DivergenceFacts | undefined): Live {
    if (this.#live !== undefined) return this.#live
    const { continuation } = this.options
    if (continuation === undefined) throw new Error('a replay does not leave its tape')
    try {
      return outsideRuns(() => this.#handOver(continuation, why))
    } catch (error) {
      this.#giveUp()
      continuation.onFailed(error)
      throw error
    }
  }

  /**
   * The only transition from served to live. Decides about all operations in progress before it
   * starts any. The call that caused it is not one of them, and is made afterwards. A synchronous
   * call whose start is already on the tape is only answered, not written again; if it is in doubt,
   * the plan decided about it before the run began.
   */
  #handOver({ goLive }: Continuation, why: DivergenceFacts | undefined): Live {
    const live = goLive(this.position, this)
    const { recorder, tail } = live
    const { underWay } = this.#deliveries
    this.left = why
    this.#live = live
    this.liveSinceMs = natives.performanceNow()
    this.#stopServing()
    recorder.secrets.takeOver(this.#secrets)
    recorder.environment.takeOver(this.#environment)
    const starts = underWay.map((operation) => {
      operation.source = recorder.local
      return tail.prepare(operation, recorder)
    })
    for (const start of starts) start()
    return live
  }

  /** The run cannot go live. After this, nothing is served, sent or delivered. */
  #giveUp(): void {
    for (const operation of this.#deliveries.underWay) operation.close()
    const live = this.#live
    this.#live = undefined
    this.#stopServing()
    live?.recorder.close()
  }
}
