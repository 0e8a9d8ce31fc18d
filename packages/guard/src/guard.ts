import type { KeyObject } from 'node:crypto'
import type { RedactRule } from '@retake/engine/hook'
import type { ApprovalOptions } from './approval/request-approval.js'
import { type Baseline, type OnArgumentDrift, readBaseline } from './contract/baseline.js'
import { checkGuardOptions } from './check-options.js'
import { GuardRun } from './guard-run.js'
import type { Limits } from './limits/limits.js'
import type { InDoubtChoice } from './resume/earlier-runs.js'
import type { Policy } from './policy/policy.js'

export interface GuardOptions {
  /** Name of the run in lists. */
  readonly name: string
  /** Decides which calls run; of several policies the strictest applies. Default: all calls run. */
  readonly policy?: Policy | readonly Policy[]
  /**
   * Names of all tools of the run. A rule that denies or asks about another tool is then an error,
   * and so is another tool.
   */
  readonly tools?: readonly string[]
  /** Folder for the guard's own tape; default `.retake/runs` in the working directory. */
  readonly dir?: string
  /**
   * `disk` (default): a call is on disk before it runs, and its result before it is returned.
   * `memory`: written in the background; a crash may lose the last calls.
   */
  readonly durability?: 'disk' | 'memory'
  /** In addition to those of the policies; the smaller applies. */
  readonly limits?: Limits
  /** Approver for calls that a rule `ask`s about. */
  readonly approval?: ApprovalOptions
  /**
   * Serves the results of an earlier run and continues after them. `true`: the latest run of this
   * name, unless it is complete. A text: id or path of any run. Only `end()` completes a run.
   */
  readonly resume?: boolean | string
  /** Decides about calls that were running when the resumed run was stopped; default `fail`. */
  readonly inDoubt?: InDoubtChoice
  /** Statistics of arguments in earlier runs, from `baselineFrom(tapes)`, or JSON text of it. */
  readonly baseline?: Baseline | string
  /** Action for calls whose arguments differ from the baseline; by default they are only recorded. */
  readonly onArgumentDrift?: OnArgumentDrift
  /**
   * Personal data that is replaced by pseudonyms on the guard's own tape, as for `record()`. Default:
   * `recording.redact` of the project's configuration. The tools get the original values.
   */
  readonly redact?: readonly RedactRule[]
  /** Private ed25519 key that signs the seal of the guard's own tape. */
  readonly signingKey?: KeyObject
}

/**
 * A gate that every tool call passes. Calls inside a recording are on its tape; otherwise the
 * guard opens its own.
 */
export function guard(options: GuardOptions): GuardRun {
  checkGuardOptions(options)
  const { baseline } = options
  return new GuardRun(
    baseline === undefined ? options : { ...options, baseline: readBaseline(baseline) },
  )
}
