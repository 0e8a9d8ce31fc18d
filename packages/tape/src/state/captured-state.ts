/** A location in source code; lines and columns count from 1. */
export interface CodeLocation {
  /** Path of the source file; a URL if it is not a file. */
  readonly file: string
  readonly line: number
  readonly column: number
  /** True if found through a source map. TypeScript with erased types needs none. */
  readonly mapped: boolean
}

/** A captured variable: without code, and cut if too large. */
export interface CapturedVariable {
  readonly name: string
  /** `local`, `block`, `closure`, `module`, …, as the inspector calls it. The nearest one wins. */
  readonly scope: string
  /** `string`, `undefined`, `array`, `Map`, or the name of a class; `object` for plain ones. */
  readonly type: string
  /** One line. */
  readonly text: string
  /** Values that JSON cannot express are objects with `$type`. */
  readonly json: unknown
  /** True if a limit left something out of `json`. */
  readonly cut: boolean
}

/** The program after a step: the line that ran next, the stack, and the variables. */
export interface CapturedState {
  readonly step: string
  /** The event at which the state was captured. */
  readonly seq: number
  /** False if no line ran for this answer alone; the line shown ran for a later one. */
  readonly isDirect: boolean
  readonly location: CodeLocation | undefined
  /** The text of that line at the time of capture, because files may change. */
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
