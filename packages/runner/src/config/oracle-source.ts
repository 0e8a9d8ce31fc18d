import type { RecordedError } from '@retake/tape'

/** A text as for `--oracle`, a function in a configuration, or a function of this process. */
export type OracleSource = string | FunctionLocation | OracleFunction

/** Location of a user's function: the default export of a file, or a member of it. */
export interface FunctionLocation {
  /** Absolute. */
  readonly file: string
  /** Empty for the default export itself; `['oracle']` in a configuration. */
  readonly member: readonly string[]
}

export type OracleAnswer =
  | boolean
  | Verdict
  | { readonly verdict: Verdict; readonly reason?: string }

/** An oracle that the user wrote: the default export of a file, or `oracle` in a configuration. */
export type OracleFunction = (outcome: RunOutcome) => OracleAnswer | Promise<OracleAnswer>

/** `undefined`: undecided, counts as neither. */
export type Verdict = 'pass' | 'fail' | 'undefined'

export interface RunOutcome {
  readonly stdout: string
  /** stdout as raw bytes, if known; used for commands. */
  readonly stdoutBytes?: Uint8Array
  readonly stderr?: string
  /** True if it ended by itself, neither killed nor abandoned. */
  readonly ended: boolean
  readonly exitCode?: number
  readonly signal?: string
  readonly error?: Pick<RecordedError, 'class' | 'message'> & Partial<Pick<RecordedError, 'name'>>
  /** Return value of `record()`. */
  readonly result?: unknown
  readonly tape?: string
  /** The folder it ran in; for a fork, only with files written by it or its parents. */
  readonly files?: string
}
