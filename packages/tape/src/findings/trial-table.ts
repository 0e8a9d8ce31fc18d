/** How often forks of a run passed, for each model or prompt that `retake compare` tried. */
export interface TrialTable {
  /** Label of the first step that was sent again. */
  readonly at: string
  readonly oracle: string
  readonly rows: readonly {
    readonly name: string
    readonly trials: number
    readonly judged: number
    readonly passed: number
    /** 95 % interval of the pass rate; missing without judged trials. */
    readonly interval?: { readonly low: number; readonly high: number }
    /** Sum of all trials; missing if a price is unknown. */
    readonly costUsd?: number
    readonly medianMs?: number | undefined
    readonly difference?: string
    readonly note?: string
  }[]
}
