import type { BodyForm, NewEvent, NoteEvent, OutputEvent, Tape } from '@retake/tape/format'
import type { Overlay } from '../overlay/overlay.js'
import type { RetakeError } from '../errors.js'
import type { TapeWriter } from '@retake/tape/node'
import type { EventWriter } from '../sessions/background-writer.js'
import type { AnswerSource } from './source.js'
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
import type { LiveRequests } from './live-requests.js'
import { Playback } from './playback.js'
import type { PlaybackOptions } from './playback.js'
import type {
  Action,
  Delivery,
  IsOutdated,
  NewDelivery,
  Operation,
  Session,
  SyncCall,
  Source,
} from '../sessions/session.js'

export interface PlayerOptions extends Pick<
  PlaybackOptions,
  'onStopped' | 'onDivergence' | 'stallMs' | 'keepAlive'
> {
  readonly leave: Leave
  readonly overlay?: Overlay | undefined
  /** The first event that is not served; the end of the tape unless set. */
  readonly until?: number
  /** The run itself is continued, not another one that begins like it. */
  readonly isResume?: boolean
  /** Today's code runs: decisions of a guard follow its policy, not the tape. */
  readonly isRerun?: boolean
  /**
   * The tape is left: opens what records and answers from here on. `at` is the number of
   * events served.
   */
  readonly goLive: (at: number, owner: Session) => Live
  /** Rules for what goes live. */
  readonly live?: LiveRequests | undefined
  /** It could not go live: nothing must happen any more. */
  readonly onFailed: (error: unknown) => void
}

/** The part of a run after its tape. */
export interface Live {
  readonly recorder: RecordSession
  readonly tail: Tail
}

/** How a run is answered after its tape, and the hand-over to that. */
export interface Tail {
  readonly source: AnswerSource
  /** Writer for events of this tail. */
  through(writer: TapeWriter): EventWriter
  /** Takes over an operation that is under way when the tape is left. */
  takeOver(operation: Operation, recorder: RecordSession): void
  /** Answers a synchronous call whose start is the last event of the tape. */
  answerSync(op: number, call: SyncCall, recorder: RecordSession): Delivery
}

/**
 * Served from a tape first, live and recorded after. Resume, fork and rerun are
 * this session; they differ in where they leave the tape. Boundaries see one
 * session all along, so that resources opened while served stay valid when live.
 */
export class Player implements Session {
  readonly overlay: Overlay | undefined
  readonly #playback: Playback
  #live: Live | undefined
  #recording: Recording | undefined
  #why: Divergence | undefined
  #liveSinceMs: number | undefined

  constructor(
    readonly tape: Tape,
    readonly options: PlayerOptions,
  ) {
    this.overlay = options.overlay
    const { onStopped, onDivergence, stallMs, keepAlive, leave, until } = options
    this.#playback = new Playback(tape, {
      onStopped,
      ...(onDivergence && { onDivergence }),
      ...(stallMs !== undefined && { stallMs }),
      ...(keepAlive !== undefined && { keepAlive }),
      ...(until !== undefined && { until }),
      leave,
      owner: this,
      onLeft: (why) => void this.#leave(why),
    })
  }

  get flags(): readonly string[] {
    return this.tape.run.flags
  }

  get closed(): boolean {
    return this.#current.closed
  }

  get local(): Source {
    return this.#current.local
  }

  get remote(): Source {
    return this.#current.remote
  }

  get secrets(): SecretMask {
    return this.#current.secrets
  }

  get files(): ServedFiles {
    return this.#playback.files
  }

  get environment(): Environment | undefined {
    return this.#current.environment
  }

  get recording(): Recording | undefined {
    const recording = this.#live?.recorder.recording
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
    return this.#playback.position
  }

  get isLive(): boolean {
    return this.#live !== undefined
  }

  /** The mismatch at which it went live, if that is why. */
  get left(): Divergence | undefined {
    return this.#why
  }

  /** When it went live, on the monotonic clock. */
  get liveSinceMs(): number | undefined {
    return this.#liveSinceMs
  }

  get counts(): Playback['counts'] {
    return this.#playback.counts
  }

  get divergences(): readonly Divergence[] {
    return [...this.#playback.divergences, ...(this.#live?.recorder.divergences ?? [])]
  }

  draw<T>(kind: string, native: () => T, isOutdated?: IsOutdated<T>): T {
    const checked = this.options.isRerun === true ? isOutdated : undefined
    return this.#either((session) => session.draw(kind, native, checked))
  }

  drawAhead<T>(kind: string, native: () => T, isOutdated?: IsOutdated<T>): T {
    const checked = this.options.isRerun === true ? isOutdated : undefined
    return this.#either((session) => session.drawAhead(kind, native, checked))
  }

  perform(action: Action): Operation {
    const { live } = this.options
    if (live === undefined) return this.#either((session) => session.perform(action))
    const operation = this.#either((session) => session.perform(live.watched(action)))
    live.performed(operation)
    return operation
  }

  performSync(given: SyncCall): Delivery {
    const call = this.options.live?.watchedCall(given) ?? given
    return this.#either(
      (session) => session.performSync(call),
      ({ tail, recorder }, op) => tail.answerSync(op, call, recorder),
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
      if (session === this.#playback) this.#playback.refuse(error)
    })
  }

  note(note: Omit<NewEvent<NoteEvent>, 'type'>, body?: Uint8Array): void {
    this.#live?.recorder.note(note, body)
  }

  keep(name: string, body: Uint8Array, isDurable?: boolean): number {
    return this.#live?.recorder.keep(name, body, isDurable) ?? -1
  }

  proceed(): void {
    this.#current.proceed()
  }

  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void {
    this.#current.completed(operation, event, body, native)
  }

  forget(operation: Operation): void {
    this.#playback.forget(operation)
  }

  restart(operation: Operation): void {
    this.#current.restart(operation)
  }

  childTask(...child: Parameters<NonNullable<Session['childTask']>>) {
    return this.#live?.recorder.childTask?.(...child)
  }

  /** The program is over. Its live part gets an end and a seal. */
  finish(end: RunEnd): void {
    if (this.closed) return
    const atEnd = this.#live === undefined && this.#playback.cutOff
    if (atEnd) this.#leave(undefined)
    this.#either((session) => session.finish(end))
  }

  close(): void {
    this.#playback.close()
    this.#live?.recorder.close()
  }

  get #current(): Playback | RecordSession {
    return this.#live?.recorder ?? this.#playback
  }

  /** Served if the tape has it, else made live. */
  #either<T>(
    act: (session: Playback | RecordSession) => T,
    answer?: (live: Live, op: number) => T,
  ): T {
    if (this.#live !== undefined) return act(this.#live.recorder)
    try {
      return act(this.#playback)
    } catch (error) {
      if (!(error instanceof LeftTape)) throw error
      const { why, answering } = error
      const live = this.#leave(why.kind === 'cut-off' ? undefined : why)
      return answering === undefined || answer === undefined
        ? act(live.recorder)
        : answer(live, answering)
    }
  }

  #leave(why: Divergence | undefined): Live {
    if (this.#live !== undefined) return this.#live
    try {
      return outsideRuns(() => this.#handOver(why))
    } catch (error) {
      this.options.onFailed(error)
      throw error
    }
  }

  /** The one point where a run goes from served to live. */
  #handOver(why: Divergence | undefined): Live {
    const playback = this.#playback
    const live = this.options.goLive(playback.position, this)
    const { recorder, tail } = live
    const { underWay } = playback
    this.#why = why
    this.#live = live
    this.#liveSinceMs = natives.performanceNow()
    playback.close()
    recorder.secrets.takeOver(playback.secrets)
    if (playback.environment) recorder.environment?.takeOver(playback.environment)
    for (const operation of underWay) {
      operation.source = recorder.local
      tail.takeOver(operation, recorder)
    }
    return live
  }
}
