import { holdsReadsOnly, readsOf, recordError } from '@retake/tape'
import type { BodyForm, EnvironmentRead, InitiationEvent, OutputEvent, Tape } from '@retake/tape'
import { errors, ReplayDiverged } from '../errors.js'
import type { RetakeError } from '../errors.js'
import { natives } from '../natives.js'
import { hasFlag } from '../recorder-flags.js'
import { outsideRuns, sessionOpened } from '../scope.js'
import { SecretMask } from '../secrets.js'
import { environmentFrom } from '../environment.js'
import type { ServedEnvironment } from '../environment.js'
import { ServedFiles } from '../served-files.js'
import { describe } from './divergence.js'
import type { Divergence } from './divergence.js'
import { DivergenceLog } from './divergence-log.js'
import type { RunEnd } from './record-session.js'
import { ReplayCheck } from './replay-check.js'
import { ReplayDeliveries } from './replay-deliveries.js'
import type { ReplayOptions } from './replay-options.js'
import { EMPTY, Operation } from './session.js'
import type { Action, Delivery, NewDelivery, Session, SyncCall } from './session.js'
import { TapeCursor } from './tape-cursor.js'

/**
 * Serves the agent from the tape, in the recorded order, and checks that it asks
 * for exactly what it asked for then. There is no way from here to the outside:
 * what the tape does not hold cannot be had.
 *
 * What the agent asks for is compared by `ReplayCheck`, what comes to it is handed
 * out by `ReplayDeliveries`; both move the one cursor along the tape.
 */
export class ReplaySession implements Session {
  readonly replaying = true
  /** What was served and what was done again, for receipts. */
  readonly counts = { served: 0, reexecuted: 0 }
  readonly secrets = new SecretMask()
  readonly environment: ServedEnvironment | undefined
  readonly files: ServedFiles
  readonly #cursor: TapeCursor
  readonly #log: DivergenceLog
  readonly #check: ReplayCheck
  readonly #deliveries: ReplayDeliveries
  /** Operations that the tape does not have, in observe mode. */
  #unknown = 0
  readonly #owner: Session
  /** Older tapes have no events for what was written to children. */
  readonly #checksWrites: boolean

  constructor(
    readonly tape: Tape,
    readonly options: ReplayOptions,
  ) {
    const cursor = new TapeCursor(tape, {
      ...(options.until !== undefined && { until: options.until }),
      passesOutput: options.output === 'ignore',
    })
    const log = new DivergenceLog(cursor, options)
    this.#cursor = cursor
    this.#log = log
    this.#owner = options.owner ?? this
    this.#checksWrites = hasFlag(tape.run.flags, 'child-writes')
    this.#check = new ReplayCheck(tape, {
      cursor,
      log,
      secrets: this.secrets,
      onAdvanced: () => this.#deliveries.schedule(),
      afterInitiation: options.afterInitiation,
    })
    this.secrets.addEnvironment(natives.env)
    this.files = new ServedFiles({
      secrets: this.secrets,
      isContinued: options.leave !== undefined,
    })
    this.environment = holdsReadsOnly(tape.run) ? this.#servedEnvironment() : undefined
    sessionOpened()
    this.#deliveries = new ReplayDeliveries(tape, cursor, log, options)
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

  /** What was started and has not been answered in full, in the order it was started. */
  get underWay(): readonly Operation[] {
    return this.#deliveries.underWay
  }

  /** Every event of the tape was consumed, and the tape was cut off there. */
  get cutOff(): boolean {
    return this.#cursor.isCut && this.#cursor.peek() === undefined
  }

  draw<T>(kind: string, native: () => T): T {
    const event = this.#isOver() ? undefined : this.#check.draw(kind)
    return event === undefined ? native() : (event.value as T)
  }

  perform(action: Action): Operation {
    let event: InitiationEvent | undefined
    try {
      event = this.#isOver() ? undefined : this.#check.initiation(action.event, action.body)
    } catch (error) {
      if (!(error instanceof ReplayDiverged)) throw error
      // Reported through onStopped. The program gets no answer any more, and no error
      // either: nobody may be there to catch it, and it is no fault of the program's.
      return new Operation(-++this.#unknown, action, this.#owner)
    }
    const operation = new Operation(event?.seq ?? -++this.#unknown, action, this.#owner)
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
    const initiation = this.#isOver() ? undefined : this.#check.initiation(call.event, call.body)
    if (initiation === undefined) throw errors.notOnTape(describe(call.event))
    const event = this.#check.answerTo(initiation, call.event)
    this.counts.served += 1
    this.options.beforeDelivery?.(event)
    return { event, body: this.tape.body(event.seq) }
  }

  output(stream: OutputEvent['stream'], bytes: Uint8Array): void {
    if (this.#isOver() || this.options.output === 'ignore') return
    this.#check.output(stream, bytes)
  }

  write(operation: Operation, bytes: Uint8Array, as?: BodyForm): void {
    if (!this.#checksWrites) return this.proceed()
    if (!this.#isOver()) this.#check.write(operation, bytes, as)
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
    this.#check.end(end)
    this.close()
  }

  close(): void {
    if (!this.closed) this.#deliveries.close()
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
    const error = recordError(errors.notOnTape(describe(event)))
    const answer: NewDelivery = ANSWERED_BY_RESULT.has(event.type === 'call' ? event.kind : '')
      ? { type: 'result', error }
      : { type: 'deliver', part: 'error', error }
    this.completed(operation, answer, EMPTY, undefined)
  }

  /** The run has ended, but something it left behind goes on. After a divergence nothing does. */
  #isOver(): boolean {
    if (this.#log.stopped) throw this.#log.stopped
    return this.closed
  }
}

/** Calls with one answer; processes, threads and streams have parts. */
const ANSWERED_BY_RESULT = new Set(['tool', 'file', 'dns', 'database'])
