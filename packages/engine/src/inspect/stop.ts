/** A value of the agent, taken while it was stopped. */
export interface Value {
  /** `string`, `undefined`, `array`, `Map`, or the name of a class; `object` for plain ones. */
  readonly type: string
  /** One line. */
  readonly text: string
  /** See `Described`: what JSON cannot say is an object with `$type`. */
  readonly json: unknown
  /** A limit left something out of `json`. */
  readonly cut: boolean
}

export interface Variable extends Value {
  readonly name: string
  /** `local`, `block`, `closure`, `module`, …, as the inspector calls it. The nearest one wins. */
  readonly scope: string
}

export interface StackFrame {
  /** Empty for code outside functions. */
  readonly name: string
  readonly location: SourceLocation
  /** Neither Node's, nor Retake's, nor an installed package's. */
  readonly isUser: boolean
  /** Only of frames of user code. */
  readonly variables: readonly Variable[]
}

/** Position and state of the agent at a line of user code. Plain JSON. */
export interface Stop {
  readonly kind: 'stop'
  /** The event that was asked for. */
  readonly seq: number
  /** Number of events consumed by then. The line ran in answer to another delivery when one lies between. */
  readonly position: number
  /** The line ran because of the delivery asked for, not of a later one. */
  readonly isDirect: boolean
  /** Location of the first frame of user code; undefined if none is on the stack. */
  readonly location: SourceLocation | undefined
  /** Innermost first. */
  readonly frames: readonly StackFrame[]
  /** Functions that wait for the innermost one, nearest first. Their variables cannot be read. */
  readonly asyncFrames: readonly Omit<StackFrame, 'variables'>[]
}

/** A place in source code; lines and columns count from 1. */
export interface SourceLocation {
  /** Path of the file as the author knows it; a URL if it is not a file. */
  readonly file: string
  readonly line: number
  readonly column: number
  /** Found through a source map. TypeScript whose types were only blanked out needs none. */
  readonly mapped: boolean
}
