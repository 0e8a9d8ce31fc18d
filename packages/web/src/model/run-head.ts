import type { BranchDetails, NotCaptured, ParentLink, RecordedError, TapeEvent } from '@retake/tape'
import type { RunStatus } from '@retake/tape/present'

/** One line of a list of runs. */
export interface RunCard {
  readonly id: string
  readonly name: string
  readonly startedAt: number
  readonly durationMs: number
  readonly status: RunStatus
  readonly steps: number
  /** Missing when there is no model call, or a price is not known. */
  readonly costUsd?: number
  /** Set on a branch. */
  readonly branch?: { readonly kind: BranchDetails['kind']; readonly parent: string }
}

/** A tape in the list that cannot be read. */
export interface UnreadableRun {
  readonly id: string
  readonly error: Explained
}

/** An error in words for people, wherever it was made. */
export interface Explained {
  readonly code: string
  readonly what: string
  readonly why?: string
  readonly fix?: string
}

/** All that is small about a run, and needs no body. */
export interface RunHead {
  readonly id: string
  readonly name: string
  readonly startedAt: number
  readonly durationMs: number
  readonly status: RunStatus
  readonly exit?: {
    readonly code?: number
    readonly signal?: string
    readonly error?: RecordedError
  }
  /** Where the agent's code threw the error that ended it, as `file:line:column`. */
  readonly exitSite?: string
  readonly node: string
  readonly parent?: ParentLink
  readonly branch?: BranchDetails
  /** What was recorded: a program of Node, a command of any language, or one call of `record()`. */
  readonly recorded?: 'program' | 'command' | 'function'
  /** What was started: program and arguments. */
  readonly command: readonly string[]
  readonly cwd?: string
  readonly platform?: string
  readonly events: number
  readonly counts: Readonly<Partial<Record<TapeEvent['type'], number>>>
  /** Steps that stand on the tape themselves; the inferred ones are known when all rows are read. */
  readonly recordedSteps: number
  readonly lanes: readonly LaneHead[]
  readonly notCaptured: readonly NotCaptured[]
  /** Bytes after the last valid event that were ignored. */
  readonly tornBytes: number
  /** The end of the tape is missing. */
  readonly cutOff?: true
  /** Set when something was taken out before the run was handed on. */
  readonly redacted?: boolean
}

/** One line of concurrent work, or a sub-agent in one. Lane 0 is the run itself. */
export interface LaneHead {
  readonly id: number
  readonly parent?: number
  /** 0 for lane 0, one more than its parent's otherwise. */
  readonly depth: number
  /** The agent, node or task its steps happen in, where an adapter named one. */
  readonly name?: string
  /** Recorded steps in it, without those of lanes below it. */
  readonly steps?: number
  /** When its first step began and its last one ended, in milliseconds since the run started. */
  readonly from?: number
  readonly to?: number
}
