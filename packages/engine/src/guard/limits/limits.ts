/** What a run may use. Everything that is not set is not limited, but for what is said. */
export interface Limits {
  /** Milliseconds a call may take; 60,000 unless set. */
  readonly timeoutMs?: number
  /** Size of a result on the tape; 10 MB unless set. */
  readonly outputBytes?: number
  /** Calls in the run. */
  readonly calls?: number
  /** Calls at once; more wait. */
  readonly concurrency?: number
  readonly tokens?: number
  readonly costUsd?: number
  readonly costUsdPerMinute?: number
  /** The same call with the same result so often in a row is a loop; off unless set. */
  readonly repeats?: number
}
