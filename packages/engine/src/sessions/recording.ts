/** A run that is really under way and recorded. */
export interface Recording {
  /** Path of its tape. */
  readonly tape: string
  /** Sets a mark in the run. Marks are not compared on replay. */
  mark(name: string, text: string): void
  /** Calls `work` when the run ends. The process may exit when `work` returns. */
  onEnd(work: () => void): void
}
