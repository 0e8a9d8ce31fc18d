import type { BranchDetails, NotCaptured, ParentLink, RecordedError, TapeEvent } from '@retake/tape'
import type { RunStatus } from '@retake/tape/present'

export interface RunCard {
  readonly id: string
  readonly name: string
  readonly startedAt: number
  readonly durationMs: number
  readonly status: RunStatus
  readonly steps: number
  /** Missing if there is no model call, or a price is unknown. */
  readonly costUsd?: number
  readonly branch?: { readonly kind: BranchDetails['kind']; readonly parent: string }
}

export interface UnreadableRun {
  readonly id: string
  readonly error: Explained
}

/** An error in words for people. */
export interface Explained {
  readonly code: string
  readonly what: string
  readonly why?: string
  readonly fix?: string
}

/** Everything about a run that is small and needs no body. */
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
  /** Where the agent threw the error that ended it, as `file:line:column`. */
  readonly exitSite?: string
  readonly node: string
  readonly parent?: ParentLink
  readonly branch?: BranchDetails
  /** A Node program, a command in any language, or one call of `record()`. */
  readonly recorded?: 'program' | 'command' | 'function'
  readonly command: readonly string[]
  readonly cwd?: string
  readonly platform?: string
  readonly events: number
  readonly counts: Readonly<Partial<Record<TapeEvent['type'], number>>>
  /** Without inferred steps, which are known when all rows are read. */
  readonly recordedSteps: number
  readonly lanes: readonly LaneHead[]
  readonly notCaptured: readonly NotCaptured[]
  /** Ignored bytes after the last valid event. */
  readonly tornBytes: number
  readonly cutOff?: true
  /** Something was removed before the run was shared. */
  readonly redacted?: boolean
}

/** Concurrent work, or a sub-agent. Lane 0 is the run itself. */
export interface LaneHead {
  readonly id: number
  readonly parent?: number
  readonly depth: number
  /** The agent, node or task of its steps, if an adapter named one. */
  readonly name?: string
  /** Recorded steps, without those of nested lanes. */
  readonly steps?: number
  /** From its first step to the end of its last one, in milliseconds since the run started. */
  readonly from?: number
  readonly to?: number
}
