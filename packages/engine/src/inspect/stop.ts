/** A value of the agent, captured while the agent was stopped. */
export interface Value {
  /** `string`, `undefined`, `array`, `Map`, or a class name; `object` for plain objects. */
  readonly type: string
  /** One line. */
  readonly text: string
  /** See `Described`: values that JSON cannot express are objects with `$type`. */
  readonly json: unknown
  /** True if a limit left something out of `json`. */
  readonly cut: boolean
}

export interface Variable extends Value {
  readonly name: string
  /** `local`, `block`, `closure`, `module`, …, as named by the inspector. The nearest one wins. */
  readonly scope: string
}

export interface StackFrame {
  /** Empty for code outside functions. */
  readonly name: string
  readonly location: SourceLocation
  /** True if the frame belongs to neither Node, Retake nor an installed package. */
  readonly isUser: boolean
  /** Only for frames of user code. */
  readonly variables: readonly Variable[]
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
  readonly location: SourceLocation | undefined
  /** Innermost first. */
  readonly frames: readonly StackFrame[]
  /** Functions that await the innermost one, nearest first. Their variables cannot be read. */
  readonly asyncFrames: readonly Omit<StackFrame, 'variables'>[]
}

/** A location in source code; lines and columns count from 1. */
export interface SourceLocation {
  /** Path of the source file; a URL if it is not a file. */
  readonly file: string
  readonly line: number
  readonly column: number
  /** True if found through a source map. TypeScript with erased types needs none. */
  readonly mapped: boolean
}
