import type { BranchDetails } from '../format/index.js'
import type { RunStatus } from '../present/run-facts.js'

/** A run as a list shows it. */
export interface RunCard {
  readonly id: string
  readonly name: string
  readonly startedAt: number
  readonly durationMs: number
  readonly status: RunStatus
  readonly steps: number
  /** Missing without a model call, or if a price is unknown. */
  readonly costUsd?: number
  readonly branch?: { readonly kind: BranchDetails['kind']; readonly parent: string }
  /** The format of a trace that was imported from another tool. */
  readonly imported?: string
  /** Names of the models that it called. */
  readonly models?: readonly string[]
  readonly tokens?: number
  /** The input of the run, its arguments, or the first user message. Shortened, like the next two. */
  readonly input?: string
  readonly failure?: string
  readonly lastLine?: string
  readonly tags?: readonly string[]
  readonly note?: string
  /** True if `retake blame` has findings, so the run failed the given check. */
  readonly failedCheck?: true
}
