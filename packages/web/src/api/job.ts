import type { Explained } from '../model/run-head.js'
import type { BranchFactsView } from './branch-view.js'

/** A fork or rerun that was started from the viewer. */
export interface Job {
  readonly id: string
  readonly kind: 'fork' | 'rerun'
  readonly parent: string
  /** The branch it writes. It cannot be opened before `written` says so. */
  readonly run: string
  /** Label of the step it was forked at. */
  readonly at?: string
  readonly name?: string
  /**
   * `waiting`: others run, it is started after them. `done`: the program came to an
   * end, whatever its exit code. `failed`: it diverged, or could not be started.
   */
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'stopped'
  /** The branch is on disk: something was recorded that is not its parent's. */
  readonly written: boolean
  /** Set when a rerun was served from beginning to end: there is no branch. */
  readonly identical?: boolean
  readonly startedAt: number
  readonly endedAt?: number
  readonly exit?: { readonly code: number; readonly signal?: string }
  readonly facts?: BranchFactsView
  /** Why it diverged, or could not be started. */
  readonly error?: Explained
  /** Where it diverged; or, of a rerun that went live, where and why it left the tape. */
  readonly divergence?: DivergenceView
  /** What it came to, in a line. */
  readonly summary?: string
}

/** The first point where a program did something else than the tape says. */
export interface DivergenceView {
  /** The event of the tape. */
  readonly seq: number
  /** The step it belongs to. */
  readonly step?: string
  /** One line: what differs. */
  readonly summary: string
  /** What the tape says and what the program did. */
  readonly explanation: string
  /** `file:line:column` in the agent's code. */
  readonly site?: string
  /** Texts: JSON where it is no text. */
  readonly mismatches: readonly {
    readonly field: string
    readonly recorded: string
    readonly current: string
  }[]
}
