import { isDelivery, isInitiation } from '@retake/tape/format'
import type {
  BodyForm,
  DeliveryEvent,
  DrawEvent,
  EndEvent,
  InitiationEvent,
  NewEvent,
  OutputEvent,
  Tape,
  TapeEvent,
} from '@retake/tape/format'
import { bodyMismatches, bodySha, compareInitiation, recordedSha } from './compare.js'
import type { Mismatch, Started } from './compare.js'
import type { Mask } from './mask.js'
import type { TolerantDraws } from './draws.js'
import { type DivergenceLog, nameOf } from './divergence.js'
import type { RunEnd } from './record-session.js'
import { EMPTY, type IsOutdated, type Operation } from './session.js'
import type { TapeCursor } from './timeline.js'

export interface SequenceMatcherOptions {
  readonly cursor: TapeCursor
  readonly log: DivergenceLog
  /** Which differences are ignored; none if undefined. */
  readonly tolerance: Pick<TolerantDraws, 'isSame' | 'isTolerable'> | undefined
  readonly secrets: Mask
  /** Called when the cursor has moved, because a delivery may be next. */
  readonly onAdvanced: () => void
  readonly afterInitiation: ((event: InitiationEvent) => void) | undefined
}

/**
 * Checks that the program does what is next on the tape, and describes differences. In strict mode,
 * the first difference is thrown. In observe mode, it is reported, and the check continues from the
 * event that fits, if there is one before the next delivery.
 */
export class SequenceMatcher {
  readonly #cursor: TapeCursor
  readonly #log: DivergenceLog
  readonly #secrets: Mask

  constructor(
    readonly tape: Tape,
    readonly options: SequenceMatcherOptions,
  ) {
    this.#cursor = options.cursor
    this.#log = options.log
    this.#secrets = options.secrets
  }

  /** The recorded draw; undefined if there is none, in observe mode. */
  draw<T>(kind: string, isOutdated?: IsOutdated<T>): DrawEvent | undefined {
    const event = this.#next()
    if (event?.type === 'draw' && event.kind === kind) {
      if (isOutdated?.(event.value as T) === true)
        this.#log.diverge({ code: 'outdated-value', drawn: kind })
      this.#advance()
      return event
    }
    const fits = (ahead: TapeEvent): boolean => ahead.type === 'draw' && ahead.kind === kind
    const found = this.#unexpected({ type: 'draw', kind, value: undefined }, fits)
    return found?.type === 'draw' ? found : undefined
  }

  /** The recorded initiation; undefined if there is none, in observe mode. */
  take({ event: current, body }: Started): InitiationEvent | undefined {
    const event = this.#next()
    if (event === undefined || !isInitiation(event) || event.type !== current.type) {
      const fits = (ahead: TapeEvent): boolean =>
        isInitiation(ahead) && compareInitiation(ahead, current).length === 0
      return this.#unexpected(current, fits) as InitiationEvent | undefined
    }
    const { tolerance } = this.options
    const mismatches = compareInitiation(event, current).filter(
      (mismatch) => tolerance?.isTolerable(mismatch) !== true && !this.#isSameText(mismatch),
    )
    const masked = body && body.length > 0 ? this.#secrets.body(current, body) : EMPTY
    if (recordedSha(this.tape, event.seq) !== bodySha(masked)) {
      const recorded = this.tape.body(event.seq)
      if (!this.#secrets.isSame(recorded, masked) && tolerance?.isSame(recorded, masked) !== true)
        mismatches.push(...bodyMismatches(recorded, masked))
    }
    if (mismatches.length > 0) {
      const isSameCall = mismatches.every(({ field }) => field !== 'kind' && field !== 'name')
      const code = isSameCall ? 'call-differs' : 'other-call'
      this.#log.diverge({ code, current: nameOf(current) }, mismatches)
    }
    this.#advance()
    this.options.afterInitiation?.(event)
    return event
  }

  /** The answer to a synchronous call, which directly follows the call on the tape. */
  answerTo(initiation: InitiationEvent, current: NewEvent<InitiationEvent>): DeliveryEvent {
    const event = this.#next()
    if (event === undefined && this.#cursor.isCut)
      this.#log.stopAtCut(nameOf(current), initiation.seq)
    if (event === undefined || !isDelivery(event) || event.op !== initiation.seq)
      this.#log.stop({ code: 'answer-missing', current: nameOf(current) })
    this.#advance()
    return event
  }

  output(stream: OutputEvent['stream'], bytes: Uint8Array): void {
    const written = this.#secrets.body({ type: 'output', stream }, bytes)
    const event = this.#next()
    if (event?.type !== 'output' || event.stream !== stream) {
      this.#unexpected(
        { type: 'output', stream },
        (ahead) => ahead.type === 'output' && ahead.stream === stream,
      )
      return
    }
    const recorded = this.tape.body(event.seq)
    if (!this.#secrets.isSame(recorded, written) && !this.#secrets.hidesOutput) {
      this.#log.diverge({ code: 'output-differs', stream }, bodyMismatches(recorded, written))
    }
    this.#advance()
  }

  /** Compares bytes that the agent writes to a child process. */
  write(operation: Operation, bytes: Uint8Array, as: BodyForm | undefined): void {
    const written = this.#secrets.body(
      { type: 'write', op: operation.id, ...(as && { as }) },
      bytes,
    )
    const isSame = (event: TapeEvent | undefined): boolean =>
      event?.type === 'write' && event.op === operation.id && event.as === as
    const event = this.#next()
    if (event === undefined || !isSame(event)) {
      this.#unexpected({ type: 'write', op: operation.id }, isSame)
      return
    }
    const recorded = this.tape.body(event.seq)
    if (!this.#secrets.isSame(recorded, written)) {
      const receiver = nameOf(operation.action.event)
      this.#log.diverge({ code: 'write-differs', receiver }, bodyMismatches(recorded, written))
    }
    this.#advance()
  }

  /** Checks the end of the program: everything recorded must have happened, with the same result. */
  end(end: RunEnd): void {
    const event = this.#next()
    if (event === undefined) return
    if (event.type === 'end') return this.#compareEnd(event, end)
    const error = end.error && {
      class: end.error.class,
      message: this.#secrets.text(end.error.message),
    }
    this.#log.diverge({
      code: 'ended-early',
      rest: this.tape.count - this.#cursor.seq,
      ...(error && { error }),
    })
  }

  #compareEnd(recorded: EndEvent, end: RunEnd): void {
    const mismatches: Mismatch[] = []
    const compare = (field: string, before: unknown, now: unknown): void => {
      const mismatch = { field, recorded: before, current: now }
      if (before !== now && !this.#isSameText(mismatch)) mismatches.push(mismatch)
    }
    compare('exit code', recorded.exitCode, end.exitCode)
    compare('error', recorded.error?.message, end.error && this.#secrets.text(end.error.message))
    compare('error class', recorded.error?.class, end.error?.class)
    compare('error code', recorded.error?.code, end.error?.code)
    const before = this.tape.body(recorded.seq)
    const now = end.body ? this.#secrets.bytes(end.body) : EMPTY
    // The tape of a guard that ended without output does not contain the return value.
    if (recorded.as !== undefined && !this.#secrets.isSame(before, now))
      mismatches.push(...bodyMismatches(before, now))
    if (mismatches.length > 0) this.#log.diverge({ code: 'end-differs' }, mismatches)
    this.#advance()
  }

  #isSameText({ recorded, current }: Mismatch): boolean {
    return (
      typeof recorded === 'string' &&
      typeof current === 'string' &&
      this.#secrets.isSame(Buffer.from(recorded), Buffer.from(current))
    )
  }

  /** Reports an operation that is not next on the tape. */
  #unexpected(current: NewEvent, fits: (ahead: TapeEvent) => boolean): TapeEvent | undefined {
    const event = this.#next()
    if (event === undefined && this.#cursor.isCut) this.#log.stopAtCut(nameOf(current))
    const code = event === undefined ? 'after-end' : 'other-event'
    this.#log.diverge({ code, current: nameOf(current) })
    const found = this.#cursor.skipTo(fits)
    this.options.onAdvanced()
    return found
  }

  /** The next event. Throws if a divergence has stopped the replay. */
  #next(): TapeEvent | undefined {
    if (this.#log.stopped) throw this.#log.stopped
    return this.#cursor.peek()
  }

  #advance(): void {
    this.#cursor.advance()
    this.options.onAdvanced()
  }
}
