import { isDelivery, isInitiation, recordError } from '@retake/tape'
import type {
  BodyForm,
  DeliveryEvent,
  InitiationEvent,
  NewEvent,
  OutputEvent,
  Tape,
  TapeEvent,
} from '@retake/tape'
import { bodySha, recordedSha } from '../body-sha.js'
import { errors, ReplayDiverged } from '../errors.js'
import { moduleLoadInFlight } from '../module-loads.js'
import { natives } from '../natives.js'
import { hasFlag } from '../recorder-flags.js'
import { outsideRuns, sessionOpened } from '../scope.js'
import { SecretMask } from '../secrets.js'
import { compareInitiation } from '../signature.js'
import type { Mismatch } from '../signature.js'
import { bodyMismatches } from './body-difference.js'
import { describe } from './divergence.js'
import type { Divergence } from './divergence.js'
import { DivergenceLog, LeftTape } from './divergence-log.js'
import type { Leave } from './divergence-log.js'
import { Gate } from './gate.js'
import type { Turn } from './gate.js'
import type { RunEnd } from './record-session.js'
import { EMPTY, Operation } from './session.js'
import type { Action, Delivery, NewDelivery, Session, SyncCall } from './session.js'
import { watchForStall } from './stall-watch.js'
import { TapeCursor } from './tape-cursor.js'

export interface ReplayOptions {
  /** `strict` stops at the first difference; `observe` reports every one and goes on. */
  readonly mode?: 'strict' | 'observe'
  /** `full` delivers as fast as possible; `recorded` keeps the recorded gaps. */
  readonly pace?: 'full' | 'recorded'
  /** `ignore` does not compare what is written to stdout and stderr. */
  readonly output?: 'compare' | 'ignore'
  /** Told about each divergence as it is found. */
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
  /** Where the owner goes live. Calls that find it out throw `LeftTape`; `onLeft` is told where no call does. */
  readonly leave?: Leave
  readonly onLeft?: (why: Divergence | undefined) => void
  /** Told of each delivery just before it reaches the agent; it may hold the thread, to look around. */
  readonly beforeDelivery?: (event: DeliveryEvent) => void
  /** Told of each initiation once it is found to be the recorded one, on the agent's own stack. */
  readonly afterInitiation?: (event: InitiationEvent) => void
}

/**
 * Serves the agent from the tape, in the recorded order, and checks that it asks
 * for exactly what it asked for then. There is no way from here to the outside:
 * what the tape does not hold cannot be had.
 */
export class ReplaySession implements Session {
  closed = false
  readonly replaying = true
  /** What was served and what was done again, for receipts. */
  readonly counts = { served: 0, reexecuted: 0 }
  readonly secrets = new SecretMask()
  readonly #operations = new Map<number, Operation>()
  readonly #cursor: TapeCursor
  readonly #log: DivergenceLog
  readonly #startedAt = natives.performanceNow()
  readonly #gate = new Gate(
    () => this.#takeTurn(),
    () => this.#schedule(),
  )
  readonly #stallWatch: { stop(): void }
  /** Re-executed work that has not finished. */
  #working = 0
  /** Operations that the tape does not have, in observe mode. */
  #unknown = 0
  readonly #owner: Session
  /** Older tapes have no events for what was written to children. */
  readonly #checksWrites: boolean

  constructor(
    readonly tape: Tape,
    readonly options: ReplayOptions,
  ) {
    this.#cursor = new TapeCursor(tape, {
      ...(options.until !== undefined && { until: options.until }),
      passesOutput: options.output === 'ignore',
    })
    this.#owner = options.owner ?? this
    this.#checksWrites = hasFlag(tape.run.flags, 'child-writes')
    this.#log = new DivergenceLog(this.#cursor, options)
    this.secrets.addEnvironment(process.env)
    sessionOpened()
    const stallMs = options.stallMs ?? 4000
    this.#stallWatch = watchForStall({
      stallMs,
      keepAlive: options.keepAlive ?? false,
      progress: () =>
        this.#working > 0 || this.#gate.requested || this.#log.stopped || moduleLoadInFlight()
          ? undefined
          : this.#cursor.seq,
      onStall: () => this.#stalled(stallMs),
    })
    this.#schedule()
  }

  get divergences(): readonly Divergence[] {
    return this.#log.divergences
  }

  /** Number of events consumed so far. */
  get position(): number {
    return this.#cursor.seq
  }

  /** What was started and has not been answered in full, in the order it was started. */
  get underWay(): readonly Operation[] {
    return [...this.#operations.values()].toSorted((a, b) => a.id - b.id)
  }

  /** Every event of the tape was consumed, and the tape was cut off there. */
  get cutOff(): boolean {
    return this.#cursor.isCut && this.#cursor.peek() === undefined
  }

  draw<T>(kind: string, native: () => T): T {
    if (this.#isOver()) return native()
    const event = this.#next()
    if (event?.type === 'draw' && event.kind === kind) {
      this.#advance()
      return event.value as T
    }
    const fits = (ahead: TapeEvent): boolean => ahead.type === 'draw' && ahead.kind === kind
    const found = this.#unexpected({ type: 'draw', kind, value: undefined }, fits)
    return found?.type === 'draw' ? (found.value as T) : native()
  }

  perform(action: Action): Operation {
    let event: InitiationEvent | undefined
    try {
      event = this.#isOver() ? undefined : this.#match(action.event, action.body)
    } catch (error) {
      if (!(error instanceof ReplayDiverged)) throw error
      // Reported through onStopped. The program gets no answer any more, and no error
      // either: nobody may be there to catch it, and it is no fault of the program's.
      return new Operation(-++this.#unknown, action, this.#owner)
    }
    const operation = new Operation(event?.seq ?? -++this.#unknown, action, this.#owner)
    if (event === undefined) this.#performUnknown(operation)
    else if (action.reexecuted === true) {
      this.#operations.set(operation.id, operation)
      this.counts.reexecuted += 1
      this.#working += 1
      outsideRuns(() => action.start(operation))
    } else {
      this.#operations.set(operation.id, operation)
      this.counts.served += 1
    }
    return operation
  }

  performSync(call: SyncCall): Delivery {
    const initiation = this.#isOver() ? undefined : this.#match(call.event, call.body)
    if (initiation === undefined) throw errors.notOnTape(describe(call.event))
    const event = this.#next()
    if (event === undefined && this.#cursor.isCut)
      this.#log.stopAtCut(describe(call.event), initiation.seq)
    if (event === undefined || !isDelivery(event) || event.op !== initiation.seq) {
      this.#log.stop(
        'missing',
        `no answer to ${describe(call.event)} is on the tape`,
        'The recording ends inside this call.',
      )
    }
    this.#advance()
    this.counts.served += 1
    this.options.beforeDelivery?.(event)
    return { event, body: this.tape.body(event.seq) }
  }

  output(stream: OutputEvent['stream'], bytes: Uint8Array): void {
    if (this.#isOver() || this.options.output === 'ignore') return
    const written = this.secrets.bytes(bytes)
    const event = this.#next()
    if (event?.type !== 'output' || event.stream !== stream) {
      this.#unexpected(
        { type: 'output', stream },
        (ahead) => ahead.type === 'output' && ahead.stream === stream,
      )
      return
    }
    const recorded = this.tape.body(event.seq)
    if (!sameBytes(recorded, written)) {
      this.#log.diverge(
        'output',
        `it wrote something else to ${stream}`,
        'The text written differs from the recorded text.',
        bodyMismatches(recorded, written),
      )
    }
    this.#advance()
  }

  write(operation: Operation, bytes: Uint8Array, as?: BodyForm): void {
    if (!this.#checksWrites) return this.#schedule()
    if (this.#isOver()) return
    const written = this.secrets.bytes(bytes)
    const isSame = (event: TapeEvent | undefined): boolean =>
      event?.type === 'write' && event.op === operation.id && event.as === as
    const event = this.#next()
    if (event === undefined || !isSame(event)) {
      this.#unexpected({ type: 'write', op: operation.id }, isSame)
      return
    }
    const recorded = this.tape.body(event.seq)
    if (!sameBytes(recorded, written)) {
      const child = describe(operation.action.event)
      this.#log.diverge(
        'different',
        `it wrote something else to ${child}`,
        'The bytes written to the process differ from the recorded ones.',
        bodyMismatches(recorded, written),
      )
    }
    this.#advance()
  }

  note(): void {
    // Notes were written by the recording; they are not part of what is compared.
  }

  proceed(): void {
    this.#schedule()
  }

  /** Re-executed work is finished and waits for its turn; work that the tape does not have needs none. */
  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void {
    if (operation.id < 0) {
      natives.setImmediate(() => operation.closed || operation.deliver({ event, body, native }))
      return
    }
    this.#working -= 1
    operation.finished = { native }
    this.#schedule()
  }

  forget(operation: Operation): void {
    this.#operations.delete(operation.id)
  }

  restart(operation: Operation): void {
    this.#operations.set(operation.id, operation)
  }

  /** The program is over: everything recorded must have happened, and come to the same end. */
  finish(end: RunEnd): void {
    if (this.closed) return
    const event = this.#next()
    if (event?.type === 'end') this.#compareEnd(event, end)
    else if (event !== undefined) {
      const rest = this.tape.count - this.#cursor.seq
      const threw = end.error
        ? ` with ${end.error.class}: ${this.secrets.text(end.error.message)}`
        : ''
      this.#log.diverge(
        'missing',
        `the program ended${threw}, but the tape goes on with ${describe(event)}`,
        `${rest} recorded events never happened.`,
      )
    }
    this.close()
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.#stallWatch.stop()
  }

  #compareEnd(recorded: Extract<TapeEvent, { type: 'end' }>, end: RunEnd): void {
    const mismatches: Mismatch[] = []
    const compare = (field: string, before: unknown, now: unknown): void => {
      if (before !== now) mismatches.push({ field, recorded: before, current: now })
    }
    compare('exit code', recorded.exitCode, end.exitCode)
    compare('error', recorded.error?.message, end.error && this.secrets.text(end.error.message))
    compare('error class', recorded.error?.class, end.error?.class)
    compare('error code', recorded.error?.code, end.error?.code)
    const before = this.tape.body(recorded.seq)
    const now = end.body ? this.secrets.bytes(end.body) : EMPTY
    if (!sameBytes(before, now)) mismatches.push(...bodyMismatches(before, now))
    if (mismatches.length > 0) {
      this.#log.diverge(
        'result',
        'the run came to another end',
        'Every event matched, but the outcome differs.',
        mismatches,
      )
    }
    this.#advance()
  }

  #match(
    current: NewEvent<InitiationEvent>,
    body: Uint8Array | undefined,
  ): InitiationEvent | undefined {
    const event = this.#next()
    if (event === undefined || !isInitiation(event) || event.type !== current.type) {
      const fits = (ahead: TapeEvent): boolean =>
        isInitiation(ahead) && compareInitiation(ahead, current).length === 0
      return this.#unexpected(current, fits) as InitiationEvent | undefined
    }
    const mismatches = compareInitiation(event, current)
    if (!this.#hasBody(event, body)) {
      mismatches.push(
        ...bodyMismatches(this.tape.body(event.seq), body ? this.secrets.bytes(body) : EMPTY),
      )
    }
    if (mismatches.length > 0) this.#differentInitiation(event, current, mismatches)
    this.#advance()
    this.options.afterInitiation?.(event)
    return event
  }

  #differentInitiation(
    event: InitiationEvent,
    current: NewEvent<InitiationEvent>,
    mismatches: readonly Mismatch[],
  ): void {
    const isSameCall = mismatches.every(({ field }) => field !== 'kind' && field !== 'name')
    const fields = mismatches.map(({ field }) => field).join(', ')
    this.#log.diverge(
      isSameCall ? 'different' : 'unexpected',
      isSameCall
        ? `${describe(current)} differs in ${fields}`
        : `the tape has ${describe(event)}, the program did ${describe(current)}`,
      `The tape has ${describe(event)} here.`,
      mismatches,
    )
  }

  #hasBody(event: InitiationEvent, body: Uint8Array | undefined): boolean {
    const current = body && body.length > 0 ? this.secrets.bytes(body) : EMPTY
    return recordedSha(this.tape, event.seq) === bodySha(current)
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

  #next(): TapeEvent | undefined {
    if (this.#log.stopped) throw this.#log.stopped
    return this.#cursor.peek()
  }

  /** The run has ended, but something it left behind goes on. After a divergence nothing does. */
  #isOver(): boolean {
    if (this.#log.stopped) throw this.#log.stopped
    return this.closed
  }

  #advance(): void {
    this.#cursor.advance()
    this.#schedule()
  }

  /**
   * The program did something that is not next on the tape. Strict: the end.
   * Observe: goes on from the event that fits, if one comes before the next delivery.
   */
  #unexpected(current: NewEvent, fits: (ahead: TapeEvent) => boolean): TapeEvent | undefined {
    const event = this.#next()
    if (event === undefined && this.#cursor.isCut) this.#log.stopAtCut(describe(current))
    if (event === undefined) {
      this.#log.diverge(
        'unexpected',
        `the program did ${describe(current)} after the recording ended`,
        'The recorded run had ended by then.',
      )
    } else {
      this.#log.diverge(
        'unexpected',
        `the tape has ${describe(event)}, the program did ${describe(current)}`,
        'The order or the number of calls has changed.',
      )
    }
    const found = this.#cursor.skipTo(fits)
    this.#schedule()
    return found
  }

  #schedule(): void {
    if (this.#log.stopped || this.closed) return
    const event = this.#cursor.peek()
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
    if (this.#log.stopped || this.closed) return undefined
    const event = this.#cursor.peek()
    if (event === undefined || !isDelivery(event)) return undefined
    const operation = this.#operations.get(event.op)
    try {
      if (operation === undefined) this.#skipDelivery(event)
      else if (this.#isDue(operation, event)) {
        this.#cursor.advance()
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

  /** What stops a replay was told to onStopped already. */
  #report(error: unknown): void {
    if (error instanceof LeftTape) this.options.onLeft?.(error.why)
    else if (!(error instanceof ReplayDiverged)) throw error
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
      this.#log.diverge(
        'different',
        'the bytes written to a connection or process differ',
        `The tape has ${describe(event)} after other bytes were sent.`,
        [{ field: 'sent bytes (sha256)', recorded: event.digest, current: digest }],
      )
    }
    return true
  }

  #skipDelivery(event: DeliveryEvent): void {
    this.#log.diverge(
      'missing',
      `the tape delivers ${describe(event)}, which the program is not waiting for`,
      'The program gave up on it earlier than it did when recorded, or never started it.',
    )
    this.#advance()
  }

  #stalled(stallMs: number): void {
    const event = this.#cursor.peek()
    if (event === undefined && !this.#cursor.isCut) return
    try {
      if (event === undefined) this.#log.stopAtCut('waiting for an answer')
      this.#log.stop(
        'missing',
        `the program waits, but the tape goes on with ${describe(event)}`,
        `Nothing happened for ${stallMs} ms.`,
      )
    } catch (error) {
      this.#report(error)
    }
  }
}

/** Calls with one answer; processes, threads and streams have parts. */
const ANSWERED_BY_RESULT = new Set(['tool', 'file', 'dns'])

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && Buffer.compare(a, b) === 0
