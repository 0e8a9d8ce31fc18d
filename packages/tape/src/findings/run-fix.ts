import type { UnifiedLine } from '../present/line-diff.js'

/** The result of the last `retake fix` of a run. */
export interface RunFix {
  readonly at: number
  readonly oracle: string
  readonly reason: string
  readonly status:
    | 'repaired'
    | 'workaround'
    | 'not-reproduced'
    | 'flaky'
    | 'not-fixed'
    | 'untried'
    | 'not-forkable'
    | 'passing'
  /** The claim of the best fix. */
  readonly claim?: FixClaim
  readonly headline: string
  /** Working fixes first, best first. */
  readonly fixes: readonly FixView[]
  readonly symptoms: readonly {
    readonly kind: string
    readonly step?: string
    readonly evidence: string
    readonly confidence: 'certain' | 'likely' | 'hint'
  }[]
  readonly notes: readonly string[]
}

/** How far a fix is shown to work: for this run, for runs of its kind, or proven. */
export type FixClaim = 'this-run' | 'this-kind' | 'proven'

export interface FixView {
  readonly id: string
  readonly title: string
  readonly why: string
  readonly author: 'rule' | 'model'
  readonly layer: string
  readonly verdict: 'repairs' | 'workaround' | 'rejected' | 'undecided' | 'untried'
  readonly claim?: FixClaim
  readonly reason: string
  readonly facts: readonly { readonly label: string; readonly text: string }[]
  /** Lines that the run printed before (`-`) and prints with the change (`+`). */
  readonly printed: readonly string[]
  /** Changed lines with context; empty in a report without source. */
  readonly files: readonly { readonly path: string; readonly lines: readonly UnifiedLine[] }[]
  /** True if the fix is currently applied to the project. */
  readonly isApplied: boolean
}

export interface AppliedFixView {
  readonly files: readonly string[]
  readonly test?: string
  readonly command?: string
  readonly noTest?: string
}
