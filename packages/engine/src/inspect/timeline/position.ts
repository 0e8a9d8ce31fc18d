import type { Evaluation } from '../probe/probe-thread.js'
import type { CapturedVariable, CodeLocation } from '@retake/tape'
import type { StackFrame } from '../probe/stop.js'
import type { Moment } from './moments.js'

export interface StackLine extends Omit<StackFrame, 'variables'> {
  /** True if it awaits the lines above it; its variables cannot be read. */
  readonly isAsync: boolean
}

export interface Watched {
  readonly expression: string
  readonly evaluation: Evaluation
  /** True if the value has changed since the previous stop. */
  readonly isChanged: boolean
}

/** The agent is paused at the line of user code that a step's answer resumed. */
export interface StoppedPosition {
  readonly kind: 'stop'
  readonly moment: Moment
  /** False if no line ran for this answer alone; the line shown ran for a later one. */
  readonly isDirect: boolean
  /** Location of the innermost frame of user code; undefined if none is on the stack. */
  readonly location: CodeLocation | undefined
  readonly locals: readonly CapturedVariable[]
  /** Innermost first. */
  readonly stack: readonly StackLine[]
  readonly watches: readonly Watched[]
}

/** Current position of a timeline. Plain JSON. */
export type Position =
  | { readonly kind: 'start' }
  | StoppedPosition
  /** At the end of the run. `moment` is set if no user code ran after the answer of that step. */
  | { readonly kind: 'end'; readonly moment?: Moment }

/** No step satisfies the condition; the position does not change. */
export interface NotFound {
  readonly kind: 'not found'
  readonly condition: string
  readonly steps: number
  /** Number of steps at which the condition threw, and the last error. */
  readonly failed: number
  readonly message?: string
}

export interface TimelineStatus {
  /** Moments before which a process is parked. */
  readonly parked: readonly number[]
  /** Processes that are on their way to their positions. */
  readonly onTheWay: number
  readonly processes: number
  readonly residentBytes: number
}
