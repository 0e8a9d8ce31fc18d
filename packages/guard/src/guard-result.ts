import type { GuardFacts, GuardIntent, GuardStatus, ExitReason, Drift } from '@retake/tape/format'

/** Which call of the run it was. */
export interface GuardedStep {
  /** From 1, in the order in which calls reached the guard. */
  readonly number: number
  readonly tool: string
  /** Its event on the tape, for `retake show` and `retake fork --at e<event>`. */
  readonly event: number
  readonly fingerprint: string
  readonly occurrence: number
}

/** Outcome of a guarded call: `status` says whether there is an output. */
export type GuardResult<Output = unknown> = DoneCall<Output> | UndoneCall

/** The tool has run, now or in an earlier run, and its result may be used. */
export interface DoneCall<Output = unknown> extends CallRecord {
  readonly status: 'done'
  /** The value that the tool returned. */
  readonly output: Output
  readonly error: undefined
}

/** There is no result to use. */
export interface UndoneCall extends CallRecord {
  readonly status: Exclude<GuardStatus, 'done'>
  readonly output: undefined
  /** Why there is no output: a `GuardError`, or what the tool threw. */
  readonly error: unknown
}

/** Facts about every call. */
export interface CallRecord {
  readonly step: GuardedStep
  /** The result comes from an earlier run; the tool did not run now. */
  readonly served: boolean
  readonly exitReason: ExitReason | undefined
  /** Where the output is not what was promised. */
  readonly drift: readonly Drift[]
  /** How it was decided. */
  readonly intent: GuardIntent
  readonly facts: GuardFacts
}
