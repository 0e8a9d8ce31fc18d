import type { BodyForm, NewEvent, NoteEvent, OutputEvent, Tape } from '@retake/tape'
import type { Overlay } from '../overlay/overlay.js'
import type { RetakeError } from '../errors.js'
import { natives } from '../natives.js'
import { outsideRuns } from '../scope.js'
import type { Environment } from '../environment.js'
import type { SecretMask } from '../secrets.js'
import type { ServedFiles } from '../served-files.js'
import type { Divergence } from './divergence.js'
import { LeftTape } from './divergence.js'
import type { Leave } from './divergence.js'
import type { RecordSession, RunEnd } from '../sessions/record-session.js'
import type { Recording } from '../sessions/recording.js'
import { ReplaySession } from './playback.js'
import type { ReplayOptions } from './playback.js'
import type {
  Action,
  Delivery,
  NewDelivery,
  Operation,
  Session,
  SyncCall,
} from '../sessions/session.js'

export interface ContinuedOptions extends Pick<
  ReplayOptions,
  'onStopped' | 'onDivergence' | 'stallMs' | 'keepAlive'
> {
  readonly leave: Leave
  readonly overlay?: Overlay | undefined
  /** The first event that is not served; the end of the tape unless set. */
  readonly until?: number
  /** The run itself goes on, not another one that begins like it. */
  readonly isResume?: boolean
  /**
   * The tape is left: opens what records from here on. `at` is the number of events
   * served, `why` the mismatch that ended it, if one did.
   */
  readonly goLive: (at: number, why: Divergence | undefined, owner: Session) => RecordSession
  /** It could not go live: nothing must happen any more. */
  readonly onFailed: (error: unknown) => void
  /** Decides what becomes of an operation that is under way at that moment. */
  readonly carryOver: (operation: Operation, recorder: RecordSession) => void
  /** Answers a call whose start is the last thing on the tape. */
  readonly answerSync: (op: number, call: SyncCall, recorder: RecordSession) => Delivery
}

/**
 * Served from a tape first, live and recorded after. Resume, fork and rerun are
 * this session; they differ in where they leave the tape. Boundaries see one
 * session all along: what they opened while served, they still hold when live.
 */
export class ContinuedSession implements Session {
  readonly overlay: Overlay | undefined
  readonly #player: ReplaySession
  #recorder: RecordSession | undefined
  #recording: Recording | undefined
  #why: Divergence | undefined
  #liveSinceMs: number | undefined

  constructor(
    readonly tape: Tape,
    readonly options: ContinuedOptions,
  ) {
    this.overlay = options.overlay
    const { onStopped, onDivergence, stallMs, keepAlive, leave, until } = options
    this.#player = new ReplaySession(tape, {
      onStopped,
      ...(onDivergence && { onDivergence }),
      ...(stallMs !== undefined && { stallMs }),
      ...(keepAlive !== undefined && { keepAlive }),
      ...(until !== undefined && { until }),
      leave,
      owner: this,
      onLeft: (why) => void this.#live(why),
    })
  }

  get flags(): readonly string[] {
    return this.tape.run.flags
  }

  get closed(): boolean {
    return this.#current.closed
  }

  get replaying(): boolean {
    return this.#current.replaying
  }

  get secrets(): SecretMask {
    return this.#current.secrets
  }

  get files(): ServedFiles {
    return this.#player.files
  }

  get environment(): Environment | undefined {
    return this.#current.environment
  }

  get recording(): Recording | undefined {
    const recording = this.#recorder?.recording
    if (recording === undefined) return undefined
    const { tape, position: at, options } = this
    this.#recording ??= {
      ...recording,
      continues: { tape, at, isResume: options.isResume === true },
    }
    return this.#recording
  }

  /** Number of events served before it went live. */
  get position(): number {
    return this.#player.position
  }

  get isLive(): boolean {
    return this.#recorder !== undefined
  }

  /** The mismatch at which it went live, if that is why. */
  get left(): Divergence | undefined {
    return this.#why
  }

  /** When it went live, on the monotonic clock. */
  get liveSinceMs(): number | undefined {
    return this.#liveSinceMs
  }

  get counts(): ReplaySession['counts'] {
    return this.#player.counts
  }

  get divergences(): readonly Divergence[] {
    return [...this.#player.divergences, ...(this.#recorder?.divergences ?? [])]
  }

  draw<T>(kind: string, native: () => T, isWithNext?: boolean): T {
    return this.#either((session) => session.draw(kind, native, isWithNext))
  }

  perform(action: Action): Operation {
    return this.#either((session) => session.perform(action))
  }

  performSync(call: SyncCall): Delivery {
    return this.#either(
      (session) => session.performSync(call),
      (recorder, op) => this.options.answerSync(op, call, recorder),
    )
  }

  output(stream: OutputEvent['stream'], bytes: Uint8Array): void {
    this.#either((session) => session.output(stream, bytes))
  }

  write(operation: Operation, bytes: Uint8Array, as?: BodyForm): void {
    this.#either((session) => session.write(operation, bytes, as))
  }

  /** Nothing is refused in the live part. */
  refuse(error: RetakeError): void {
    this.#either((session) => {
      if (session === this.#player) this.#player.refuse(error)
    })
  }

  note(note: Omit<NewEvent<NoteEvent>, 'type'>, body?: Uint8Array): void {
    if (this.#recorder !== undefined) this.#recorder.note(note, body)
  }

  keep(name: string, body: Uint8Array, isDurable?: boolean): number {
    return this.#recorder?.keep(name, body, isDurable) ?? -1
  }

  proceed(): void {
    this.#current.proceed()
  }

  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void {
    this.#current.completed(operation, event, body, native)
  }

  forget(operation: Operation): void {
    this.#player.forget(operation)
  }

  restart(operation: Operation): void {
    this.#current.restart(operation)
  }

  /** The program is over. What it did live gets its end and its seal. */
  finish(end: RunEnd): void {
    if (this.closed) return
    const atEnd = this.#recorder === undefined && this.#player.cutOff
    if (atEnd) this.#live(undefined)
    this.#either((session) => session.finish(end))
  }

  close(): void {
    this.#player.close()
    this.#recorder?.close()
  }

  get #current(): ReplaySession | RecordSession {
    return this.#recorder ?? this.#player
  }

  /** Served if the tape has it, else made live. */
  #either<T>(
    act: (session: ReplaySession | RecordSession) => T,
    answer?: (recorder: RecordSession, op: number) => T,
  ): T {
    if (this.#recorder !== undefined) return act(this.#recorder)
    try {
      return act(this.#player)
    } catch (error) {
      if (!(error instanceof LeftTape)) throw error
      const { why, answering } = error
      const recorder = this.#live(why.kind === 'cut-off' ? undefined : why)
      return answering === undefined || answer === undefined
        ? act(recorder)
        : answer(recorder, answering)
    }
  }

  #live(why: Divergence | undefined): RecordSession {
    if (this.#recorder !== undefined) return this.#recorder
    try {
      return this.#goLive(why)
    } catch (error) {
      this.options.onFailed(error)
      throw error
    }
  }

  #goLive(why: Divergence | undefined): RecordSession {
    return outsideRuns(() => {
      const recorder = this.options.goLive(this.#player.position, why, this)
      const underWay = this.#player.underWay
      this.#why = why
      this.#recorder = recorder
      this.#liveSinceMs = natives.performanceNow()
      this.#player.close()
      recorder.secrets.takeOver(this.#player.secrets)
      if (this.#player.environment) recorder.environment?.takeOver(this.#player.environment)
      for (const operation of underWay) this.options.carryOver(operation, recorder)
      return recorder
    })
  }
}
