import type { DeliveryEvent } from '@retake/tape'
import type { Operation } from '../sessions/session.js'
import type { HeldOperation } from './held-operation.js'
import type { RecordedAnswers, RecordedOperation } from './recorded-answers.js'

const LAST = Number.MAX_SAFE_INTEGER

/** An operation of the run that goes on, and what of its recorded answer has not reached the agent yet. */
export class PendingAnswer {
  #next = 0
  /** Timers: it waits for its time. A timeout that has fired does not, until it is refreshed. */
  armed = true
  /** Timers: when it is due, in the time of the run that goes on. */
  due = 0
  readonly parts: readonly number[]
  readonly work: HeldOperation | undefined
  readonly #writtenBefore: number

  constructor(
    readonly source: RecordedAnswers,
    /** Parts reach the agent through this one. */
    readonly operation: Operation,
    /** Missing when the recording has nothing like it: timers and local work, which need no answer. */
    readonly recorded: RecordedOperation | undefined,
    options: {
      readonly parts?: readonly number[]
      readonly work?: HeldOperation
      /** Connections: what the agent had written before it began to wait for this. */
      readonly writtenBefore?: number
    } = {},
  ) {
    this.parts = options.parts ?? recorded?.parts ?? []
    this.work = options.work
    this.#writtenBefore = options.writtenBefore ?? 0
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

  /** Whether its next part could come now. Work counts as ready when it runs: its time is not in the world's hands. */
  isReady(): boolean {
    if (this.operation.closed) return false
    if (this.work !== undefined) return this.isExhausted ? this.work.outcomes.length > 0 : true
    if (this.isExhausted || !this.armed) return false
    return this.hasWritten(this.source.delivery(this.nextSeq)) !== 'less'
  }

  /** How much the agent has written to the connection or process, compared with when this part came. */
  hasWritten(event: DeliveryEvent): 'less' | 'other' | 'enough' {
    if (event.type !== 'deliver' || event.written === undefined) return 'enough'
    const stamp = this.operation.action.stamp?.()
    if (stamp === undefined) return 'enough'
    const missing = event.written - (this.recorded?.written ?? 0)
    const written = stamp.written - this.#writtenBefore
    if (written < missing) return 'less'
    const digest =
      written === missing
        ? stamp.digest
        : this.operation.action.digestAt?.(missing + this.#writtenBefore)
    return digest !== undefined && digest !== event.digest ? 'other' : 'enough'
  }
}
