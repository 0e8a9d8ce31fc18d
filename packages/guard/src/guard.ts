import type { KeyObject } from 'node:crypto'
import type { ApprovalOptions } from './approval/approval.js'
import type { Baseline } from './contract/baseline/baseline.js'
import type { OnArgumentDrift } from './contract/baseline/drift-score.js'
import { readBaseline } from './contract/baseline/baseline.js'
import { checkGuardOptions } from './check-options.js'
import { GuardRun } from './guard-run.js'
import type { Limits } from './limits/limits.js'
import type { InDoubtChoice } from './resume/in-doubt.js'
import type { Policy } from './policy/policy.js'

export interface GuardOptions {
  /** Name of the run in lists. */
  readonly name: string
  /** Which calls are let through; of several policies the strictest applies. Everything unless set. */
  readonly policy?: Policy | readonly Policy[]
  /** Folder for the guard's own tape; `.retake/runs` under the working directory unless set. */
  readonly dir?: string
  /**
   * `disk`: what a call depends on is on disk before it runs, and its result before it is
   * shown. `memory`: written in the background; a crash may lose the last calls. `disk` unless set.
   */
  readonly durability?: 'disk' | 'memory'
  /** Beside those of the policies; the smaller applies. */
  readonly limits?: Limits
  /** Approver for calls that a rule `ask`s about. */
  readonly approval?: ApprovalOptions
  /**
   * Serves what an earlier run has done and goes on from there. `true`: the latest run of
   * this name, unless it came to its end. A text: id or path of any run. With it, only
   * `end()` completes a run: one that is left otherwise can be resumed.
   */
  readonly resume?: boolean | string
  /** Policy for calls that were running when the resumed run was stopped; `fail` unless set. */
  readonly inDoubt?: InDoubtChoice
  /** Statistics of arguments in earlier runs, from `baselineFrom(tapes)`, or JSON text of it. */
  readonly baseline?: Baseline | string
  /** Policy for calls whose arguments are unlike those of the baseline; only noted unless set. */
  readonly onArgumentDrift?: OnArgumentDrift
  /** Private ed25519 key that signs the seal of the guard's own tape. */
  readonly signingKey?: KeyObject
}

/**
 * A gate that every tool call passes: verify, then run. Calls made inside a
 * recording are on its tape; elsewhere the guard opens a tape of its own.
 */
export function guard(options: GuardOptions): GuardRun {
  checkGuardOptions(options)
  const { baseline } = options
  return new GuardRun(
    baseline === undefined ? options : { ...options, baseline: readBaseline(baseline) },
  )
}
