/** Variables of the agent after a step, and what has changed since the step before. */
export interface StateView {
  readonly step: string
  /** False when no line ran for the answer alone: this one ran for a later one. */
  readonly isDirect: boolean
  readonly location:
    | { readonly file: string; readonly line: number; readonly column: number }
    | undefined
  readonly source: string | undefined
  readonly frames: readonly {
    readonly name: string
    readonly location: { readonly file: string; readonly line: number; readonly column: number }
    readonly variables: readonly StateVariable[]
  }[]
  /** Compared with the state of this step. */
  readonly comparedWith: string | undefined
  readonly changes: readonly {
    /** For example `main.cart.items[2].price`. */
    readonly path: string
    readonly before?: unknown
    readonly after?: unknown
  }[]
}

export interface StateVariable {
  readonly name: string
  readonly scope: string
  readonly type: string
  /** One line. */
  readonly text: string
  readonly json: unknown
  /** A limit left something out of `json`. */
  readonly cut: boolean
}
