export { DIFF_AREAS, type DiffArea } from './diff/diff-area.js'
export { diffRuns } from './diff/diff-runs.js'
export type { ValueDiff } from './diff/json-diff.js'
export type { LineDiff, OutputStream, PrintedLine } from './diff/output-diff.js'
export type {
  DiffOptions,
  FirstDivergence,
  RunDiff,
  RunSide,
  StepDiff,
  StepRef,
} from './diff/run-diff.js'
export type { SharedPart } from './diff/shared-steps.js'
export type { FieldDiff } from './diff/step-diff.js'
export type { ChangedTool, ToolListDiff } from './diff/tool-list-diff.js'
export { locate } from './locate/locate.js'
export type {
  Located,
  MatchExcerpt,
  NearMiss,
  Occurrence,
  SourceKind,
} from './locate/occurrence.js'
export { blameRun, type BlameOptions, type BlameProgress } from './blame/blame-run.js'
export type { Coalition, Fork, ForkOutcome, ForkSource, StepValue } from './blame/fork-source.js'
