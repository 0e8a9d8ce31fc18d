/** A line of the agent's code. */
export interface CodeLocation {
  /** Path of the file as the author knows it; a URL if it is not a file. */
  readonly file: string
  readonly line: number
  readonly column: number
  /** Found through a source map. */
  readonly mapped: boolean
}

/** A variable as it was written down: no code, and cut where it was too large. */
export interface CapturedVariable {
  readonly name: string
  /** `local`, `block`, `closure`, `module`, …, as the inspector calls it. */
  readonly scope: string
  readonly type: string
  /** One line. */
  readonly text: string
  readonly json: unknown
  /** A limit left something out of `json`. */
  readonly cut: boolean
}

/** Where a step left the program: the line that ran next, the stack, and the variables. */
export interface CapturedState {
  /** Label of the step. */
  readonly step: string
  /** The event at which the step was looked at. */
  readonly seq: number
  /** False when no line ran for the answer alone: this one ran for a later one. */
  readonly isDirect: boolean
  readonly location: CodeLocation | undefined
  /** The text of that line when the state was captured: files change. */
  readonly source?: string
  /** User code only, innermost first. */
  readonly frames: readonly {
    /** Empty for code outside functions. */
    readonly name: string
    readonly location: CodeLocation
    readonly variables: readonly CapturedVariable[]
  }[]
  readonly asyncFrames: readonly { readonly name: string; readonly location: CodeLocation }[]
}
