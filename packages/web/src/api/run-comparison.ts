import type { RunCard } from '../model/run-head.js'

/** Two runs side by side. Rows are pairs of steps, in order; one side is missing where only the other has it. */
export interface RunComparison {
  readonly a: RunCard
  readonly b: RunCard
  readonly equal: boolean
  /** What they have in common by descent, in words. */
  readonly descent?: string
  /** Label, in the first run, of the last step before anything differs. */
  readonly sameUntil?: string
  /** The first difference, in words. */
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
  /** Lines that differ in what the two printed. */
  readonly console: readonly ComparedLine[]
  /** Exit code, signal, error, what a function returned. */
  readonly outcome: readonly ComparedText[]
}

export interface ComparedStep {
  readonly a?: string
  readonly b?: string
  readonly title: string
  /** Set when the title differs in the second run. */
  readonly titleB?: string
  readonly kind: string
  readonly verdict: 'same' | 'changed' | 'only a' | 'only b'
  /** Both have it, in another order. */
  readonly moved?: boolean
  /** What differs, each as two texts. */
  readonly differences: readonly ComparedText[]
  /** Messages that differ as an earlier step has told, and are only carried along. */
  readonly carried?: number
}

export interface ComparedText {
  /** Where: `answer[0].text`, `args.query`. */
  readonly what: string
  readonly area?: 'messages' | 'tools' | 'requests' | 'output' | 'usage'
  /** Empty where a side has nothing. */
  readonly a: string
  readonly b: string
  readonly form?: 'json' | 'text'
  /** Which side has nothing there. */
  readonly missing?: 'a' | 'b'
  /** A text was too long and is cut. */
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
  /** The last step begun by then. */
  readonly step?: string
}

export interface ComparedTotal {
  readonly name: string
  readonly a: string
  readonly b: string
  /** From the first to the second: `+3`, `-$0.02`; missing when they are the same or one is unknown. */
  readonly change?: string
}
