export { DIFF_AREAS, type DiffArea } from './diff/run-diff.js'
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
export type { SharedPart } from './diff/run-diff.js'
export type { FieldDiff } from './diff/step-content.js'
export type { ChangedTool, ToolListDiff } from './diff/tool-list-diff.js'
export { locate } from './locate/locate.js'
export { separateRuns } from './separate/separate-runs.js'
export type {
  ObservedRun,
  ObservedValue,
  SeparatedRuns,
  SeparatingPredicate,
} from './separate/separate-runs.js'
export type { Located, MatchExcerpt, NearMiss, Occurrence, SourceKind } from './locate/locate.js'
export {
  blameRun,
  DEFAULT_FORKS,
  type BlameOptions,
  type BlameProgress,
} from './blame/blame-run.js'
export type {
  Coalition,
  Fork,
  ForkOutcome,
  ForkSource,
  StepValue,
  Transplant,
} from './blame/fork-source.js'
export { causeIndexes } from './blame/make-findings.js'
export { confidenceSequence } from './blame/stats.js'
export { mapConcurrent } from './blame/ledger.js'
export { rangesText } from './blame/step-set.js'
export type { Interval } from './blame/stats.js'
export { wilson } from './blame/stats.js'
export {
  classicView,
  type ClassicOptions,
  type ClassicStep,
  type ClassicView,
} from './blame/classic-view.js'
export type { FlipRate } from './blame/classic-view.js'
export {
  cautiousPrior,
  findFailures,
  CONFIRMING,
  isActing,
  priorFeatures,
  rankSteps,
} from './blame/step-prior.js'
export { stepPrior, type PriorStep } from './blame/step-prior.js'
export { blameSpans, type BlameSpansOptions } from './blame/spans/blame-spans.js'
export { maskRequest, MASK_TEXT } from './blame/spans/split-input.js'
export type { RunMasked } from './blame/spans/blame-spans.js'
export { splitInput } from './blame/spans/split-input.js'
export type { RequestPart, TextLocation, TextSpan } from './blame/spans/split-input.js'
