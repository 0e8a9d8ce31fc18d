import type { RunCard } from './run-card.js'

/**
 * Two runs side by side. Rows are pairs of steps in order. A side is missing if only the other run
 * has the step.
 */
export interface RunComparison {
  readonly a: RunCard
  readonly b: RunCard
  readonly equal: boolean
  /** Common ancestry, in words. */
  readonly descent?: string
  /** Label in run `a` of the last step before the first difference. */
  readonly sameUntil?: string
  readonly first?: string
  readonly counts: {
    readonly same: number
    readonly changed: number
    readonly moved: number
    readonly onlyA: number
    readonly onlyB: number
  }
  readonly rows: readonly ComparedStep[]
  readonly totals: readonly ComparedTotal[]
  readonly console: readonly ComparedLine[]
  readonly outcome: readonly ComparedText[]
}

export interface ComparedStep {
  readonly a?: string
  readonly b?: string
  readonly title: string
  readonly titleB?: string
  readonly kind: string
  readonly verdict: 'same' | 'changed' | 'only a' | 'only b'
  readonly moved?: boolean
  readonly differences: readonly ComparedText[]
  /** Number of messages whose difference is shown at an earlier step. */
  readonly carried?: number
}

export interface ComparedText {
  /** Path: `answer[0].text`, `args.query`. */
  readonly what: string
  readonly area?: 'messages' | 'tools' | 'requests' | 'output' | 'usage'
  readonly a: string
  readonly b: string
  readonly missing?: 'a' | 'b'
  readonly cut?: boolean
}

export interface ComparedLine {
  readonly stream: 'stdout' | 'stderr'
  readonly a?: ComparedPrinted
  readonly b?: ComparedPrinted
}

export interface ComparedPrinted {
  /** From 1. */
  readonly line: number
  readonly text: string
  readonly step?: string
}

export interface ComparedTotal {
  readonly name: string
  readonly a: string
  readonly b: string
  /** From the first to the second: `+3`, `-$0.02`; missing if equal or unknown. */
  readonly change?: string
}
