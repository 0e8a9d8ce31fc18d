import type { CapturedVariable, CodeLocation } from '@retake/tape'

/** A value of the agent, captured while the agent was stopped. */
export type Value = Omit<CapturedVariable, 'name' | 'scope'>

export interface StackFrame {
  /** Empty for code outside functions. */
  readonly name: string
  readonly location: CodeLocation
  /** True if the frame belongs to neither Node, Retake nor an installed package. */
  readonly isUser: boolean
  /** Only for frames of user code. */
  readonly variables: readonly CapturedVariable[]
}

/** Position and state of the agent at a line of user code. Plain JSON. */
export interface Stop {
  readonly kind: 'stop'
  /** The requested event. */
  readonly seq: number
  /**
   * Number of events consumed so far. If this is beyond another delivery, the line ran because of
   * that delivery.
   */
  readonly position: number
  /** True if the line ran because of the requested delivery, not of a later one. */
  readonly isDirect: boolean
  /** Location of the first frame of user code; undefined if none is on the stack. */
  readonly location: CodeLocation | undefined
  /** Innermost first. */
  readonly frames: readonly StackFrame[]
  /** Functions that await the innermost one, nearest first. Their variables cannot be read. */
  readonly asyncFrames: readonly Omit<StackFrame, 'variables'>[]
}
