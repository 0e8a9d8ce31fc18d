import type { Tape } from '@retake/tape/format'

/** A live run that is being recorded. */
export interface Recording {
  /** Path of its tape. */
  readonly tape: string
  /** Sets a mark in the run. Marks are not compared on replay. */
  mark(name: string, text: string): void
  /** Calls `work` when the run ends. The process may exit when `work` returns. */
  onEnd(work: () => void): void
  /** Set if the run continues from a tape. */
  readonly continues?: {
    readonly tape: Tape
    /** Number of events served from that tape. */
    readonly at: number
    /** True if it is the same run, not a branch. */
    readonly isResume: boolean
  }
}
