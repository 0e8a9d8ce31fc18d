import type { RunView } from '../read-model/run-view.js'
import type { Step } from '../read-model/step.js'
import type { ValueDiff } from './json-diff.js'
import type { LineDiff } from './output-diff.js'
import type { FieldDiff } from './step-content.js'
import type { ToolListDiff } from './tool-list-diff.js'

/** Common history of two runs of which one or both are branches. */
export interface SharedPart {
  readonly run: string
  readonly events: number
}

/** The history that two runs share by descent. */
export const sharedPart = (a: RunView, b: RunView): SharedPart | undefined => {
  if (b.parent?.run === a.id) return { run: a.id, events: b.parent.seq }
  if (a.parent?.run === b.id) return { run: b.id, events: a.parent.seq }
  if (a.parent !== undefined && a.parent.run === b.parent?.run) {
    return { run: a.parent.run, events: Math.min(a.parent.seq, b.parent.seq) }
  }
  return undefined
}

/** Labels of steps that lie in the shared part with all of their answers, in both runs. */
export const sharedLabels = (a: RunView, b: RunView, shared: SharedPart): ReadonlySet<string> => {
  const isWithin = ({ seq, answerSeqs }: Step): boolean =>
    seq < shared.events &&
    answerSeqs.length > 0 &&
    answerSeqs.every((answer) => answer < shared.events)
  const labelsOf = ({ steps }: RunView): string[] =>
    steps.filter(isWithin).map(({ label }) => label)
  const inB = new Set(labelsOf(b))
  return new Set(labelsOf(a).filter((label) => inB.has(label)))
}

/**
 * Subject of a difference. `messages`: conversations with models. `tools`: requested and executed
 * calls of tools and processes, and the tools that MCP servers offer. `requests`: the rest of an
 * exchange. `output`: printed output. `usage`: tokens and cost.
 */
export const DIFF_AREAS = ['messages', 'tools', 'requests', 'output', 'usage'] as const
export type DiffArea = (typeof DIFF_AREAS)[number]

/** A step in a difference, without its contents. */
export type StepRef = Pick<
  Step,
  'label' | 'seq' | 'kind' | 'title' | 'state' | 'lane' | 'site' | 'latencyMs'
>

/**
 * `changed`: both runs have it, with differences. `moved`: both have it, in another order; `fields`
 * may be empty. `removed` and `added`: only the first or the second run has it.
 */
export interface StepDiff {
  readonly change: 'changed' | 'moved' | 'removed' | 'added'
  readonly a?: StepRef
  readonly b?: StepRef
  readonly fields: readonly FieldDiff[]
  /** Paths of messages that only repeat a difference of an earlier step. */
  readonly carried: readonly string[]
}

export type FirstDivergence =
  | {
      readonly in: 'step'
      readonly change: StepDiff['change']
      /** Labels of the step in the two runs. */
      readonly a?: string
      readonly b?: string
      /** Path of the first difference in it. */
      readonly path?: string
    }
  | { readonly in: 'output'; readonly line: LineDiff }
  | { readonly in: 'outcome'; readonly path: string }

export interface RunSide extends Pick<
  RunView,
  'id' | 'name' | 'startedAt' | 'durationMs' | 'status' | 'exit' | 'totals'
> {
  readonly steps: number
}

/** All differences between two runs. Durations are reported but never count as a difference. */
export interface RunDiff {
  readonly equal: boolean
  readonly a: RunSide
  readonly b: RunSide
  /** Set if one is a branch of the other, or both are branches of the same run. */
  readonly shared?: SharedPart
  readonly first?: FirstDivergence
  readonly counts: Readonly<Record<StepDiff['change'] | 'same', number>>
  readonly steps: readonly StepDiff[]
  /** For MCP servers whose tools both runs listed. */
  readonly toolLists: readonly ToolListDiff[]
  readonly output: readonly LineDiff[]
  /** Exit code, signal, error, and the return value of a function run. */
  readonly outcome: readonly ValueDiff[]
}

export interface DiffOptions {
  /** Areas to compare (default: all). */
  readonly only?: readonly DiffArea[]
  /** The shared part, if the caller knows a common ancestor further back. */
  readonly shared?: SharedPart | undefined
}
