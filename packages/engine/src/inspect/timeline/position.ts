import type { Evaluation } from '../probe-thread.js'
import type { SourceLocation, StackFrame, Variable } from '../stop.js'
import type { Moment } from './moments.js'

/** One line of a stack. */
export interface StackLine extends Omit<StackFrame, 'variables'> {
  /** It waits for the lines above it; its variables cannot be read. */
  readonly isAsync: boolean
}

export interface Watched {
  readonly expression: string
  readonly evaluation: Evaluation
  /** It had another value at the stop before. */
  readonly isChanged: boolean
}

/** The agent is paused at the line of user code that a step's answer resumed. */
export interface StoppedPosition {
  readonly kind: 'stop'
  readonly moment: Moment
  /** False when no line ran for the answer alone: this one ran for a later one. */
  readonly isDirect: boolean
  /** Location of the innermost frame of user code; undefined if none is on the stack. */
  readonly location: SourceLocation | undefined
  /** Variables of that frame. */
  readonly locals: readonly Variable[]
  /** Innermost first. */
  readonly stack: readonly StackLine[]
  readonly watches: readonly Watched[]
}

/** Current position of a timeline. Plain JSON. */
export type Position =
  /** Before the first step. */
  | { readonly kind: 'start' }
  | StoppedPosition
  /** The run ended; with a `moment` when no user code ran after the answer of that step. */
  | { readonly kind: 'end'; readonly moment?: Moment }

/** No step fulfils the condition; the timeline stays where it was. */
export interface NotFound {
  readonly kind: 'not found'
  readonly condition: string
  /** How many steps were looked at. */
  readonly steps: number
  /** At how many of them the condition threw, and what it threw last. */
  readonly failed: number
  readonly message?: string
}

/** Processes of a timeline. */
export interface TimelineStatus {
  /** Moments before which a process is parked. */
  readonly parked: readonly number[]
  /** Processes that run in the background to where they will be parked. */
  readonly onTheWay: number
  /** All processes, with the one that is looked at. */
  readonly processes: number
  /** Their memory together. */
  readonly residentBytes: number
}
