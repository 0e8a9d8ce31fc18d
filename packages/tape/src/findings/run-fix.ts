import type { UnifiedLine } from '../present/line-diff.js'

/** The result of the last `retake fix` of a run. */
export interface RunFix {
  readonly at: number
  readonly oracle: string
  readonly reason: string
  readonly status:
    | 'fixed'
    | 'not-reproduced'
    | 'flaky'
    | 'not-fixed'
    | 'untried'
    | 'not-forkable'
    | 'passing'
  readonly headline: string
  /** Proven fixes first, best first. */
  readonly fixes: readonly FixView[]
  readonly symptoms: readonly {
    readonly kind: string
    readonly step?: string
    readonly evidence: string
    readonly confidence: 'certain' | 'likely' | 'hint'
  }[]
  readonly notes: readonly string[]
}

export interface FixView {
  readonly id: string
  readonly title: string
  readonly why: string
  readonly author: 'rule' | 'model'
  readonly layer: string
  readonly verdict: 'proven' | 'rejected' | 'undecided' | 'untried'
  readonly reason: string
  readonly facts: readonly { readonly label: string; readonly text: string }[]
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
