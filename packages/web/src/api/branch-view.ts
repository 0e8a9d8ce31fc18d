import type { BranchDetails, ParentLink } from '@retake/tape'
import type { RunStatus } from '@retake/tape/present'
import type { Explained } from '../model/run-head.js'

/** A run and what was forked from it, oldest first. */
export interface BranchNodeView {
  readonly id: string
  readonly name: string
  readonly status?: RunStatus
  readonly exitCode?: number
  readonly branch?: BranchDetails
  readonly parent?: ParentLink
  /** How it came to be, in words: `fork at step 4`, `rerun`, `recorded`. */
  readonly how?: string
  /** What was changed, each in a line. */
  readonly edits?: readonly string[]
  readonly steps?: number
  readonly startedAt?: number
  readonly durationMs?: number
  readonly costUsd?: number
  /** The last line it printed: often what it came to. */
  readonly lastLine?: string
  /** What the branch saved and paid; see `retake branches`. */
  readonly facts?: BranchFactsView
  /** Why its tape cannot be read. */
  readonly error?: Explained
  readonly branches: readonly BranchNodeView[]
  /** At the first run only: tapes of the home that cannot be read, and may be branches of it. */
  readonly unreadable?: readonly string[]
}

/** What a branch got from its parent, and what it paid itself. */
export interface BranchFactsView {
  /** Steps served from the parent, lost on the way, and live. */
  readonly served: number
  readonly lost: number
  readonly live: number
  readonly savedRequests: number
  readonly savedTokens: number
  /** Missing when a price is not known; the same for `paidUsd`. */
  readonly savedUsd?: number
  readonly savedMs: number
  readonly paidRequests: number
  readonly paidTokens: number
  readonly paidUsd?: number
}

/** How a file of a branch differs from the disk as it is now. */
export interface BranchFile {
  readonly path: string
  readonly kind: 'added' | 'changed' | 'deleted'
  readonly type: 'file' | 'folder' | 'link'
  readonly sizeBefore?: number
  readonly sizeAfter?: number
  /** The two contents, where they are text and not too long. */
  readonly before?: string
  readonly after?: string
}
