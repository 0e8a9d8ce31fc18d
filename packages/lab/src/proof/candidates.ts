import type { BlameFindings, RunView } from '@retake/tape'
import type { FailureError, Symptom, SymptomClass } from './symptoms.js'

/** Layers of an agent; the cheapest and safest to change come first. */
export const FIX_LAYERS = [
  'transport',
  'policy',
  'tool',
  'context',
  'lifecycle',
  'code',
  'prompt',
] as const
export type FixLayer = (typeof FIX_LAYERS)[number]

/** A source file of the agent; its path is relative to the project. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** Full texts of a file; `before` is missing for a new file. */
export interface FileEdit {
  readonly path: string
  readonly before: string | undefined
  readonly after: string
}

export interface FixCandidate {
  /** Hash of the edits: the same change has the same id. */
  readonly id: string
  readonly operator: string
  readonly layer: FixLayer
  readonly title: string
  readonly why: string
  readonly symptom?: SymptomClass
  /** Labels of the steps it is meant to repair. */
  readonly steps: readonly string[]
  readonly edits: readonly FileEdit[]
  readonly author: 'rule' | 'model'
  /** The same change at an unrelated location. It must not repair the run. */
  readonly placebo?: FixCandidate
}

export interface FixContext {
  readonly run: RunView
  readonly symptoms: readonly Symptom[]
  readonly findings?: BlameFindings
  readonly sources: readonly SourceFile[]
  readonly earlier?: readonly RunView[]
  readonly error?: FailureError
  readonly oracleReason?: string
  /** The oracle as given, such as `stdout:/refunded/`. */
  readonly oracleText?: string
  /** The smallest policy rule that denies the call of a step and no call of a passing run. */
  readonly suggestRule?: (step: string) => object | undefined
}
