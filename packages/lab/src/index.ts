export { DIFF_AREAS, type DiffArea } from '@retake/tape/diff'
export { diffRuns } from '@retake/tape/diff'
export type { ValueDiff } from '@retake/tape/diff'
export type { LineDiff, OutputStream, PrintedLine } from '@retake/tape/diff'
export type {
  DiffOptions,
  FirstDivergence,
  RunDiff,
  RunSide,
  StepDiff,
  StepRef,
} from '@retake/tape/diff'
export type { SharedPart } from '@retake/tape/diff'
export type { FieldDiff } from '@retake/tape/diff'
export type { ChangedTool, ToolListDiff } from '@retake/tape/diff'
export { locate } from '@retake/tape/locate'
export { separateRuns } from './separate/separate-runs.js'
export type {
  ObservedRun,
  ObservedValue,
  SeparatedRuns,
  SeparatingPredicate,
} from './separate/separate-runs.js'
export type { Located, MatchExcerpt, NearMiss, Occurrence, SourceKind } from '@retake/tape/locate'
export { blameRun, DEFAULT_FORKS } from './search/blame-run.js'
export type { BlameOptions, BlameProgress } from './search/search.js'
export type {
  Coalition,
  Fork,
  ForkOutcome,
  ForkSource,
  StepValue,
  Transplant,
} from './search/fork-source.js'
export { causeIndexes } from './search/make-findings.js'
export { confidenceSequence } from './search/stats.js'

export { rangesText } from './search/step-set.js'
export type { Interval } from './search/stats.js'
export { wilson } from './search/stats.js'
export {
  classicView,
  type ClassicOptions,
  type ClassicStep,
  type ClassicView,
} from './search/classic-view.js'
export type { FlipRate } from './search/classic-view.js'
export {
  cautiousPrior,
  findFailures,
  CONFIRMING,
  isActing,
  priorFeatures,
  rankSteps,
} from './search/step-prior.js'
export { stepPrior, type PriorStep } from './search/step-prior.js'
export { blameSpans, type BlameSpansOptions } from './search/spans/blame-spans.js'
export { maskRequest, MASK_TEXT } from './search/spans/split-input.js'
export type { RunMasked } from './search/spans/blame-spans.js'
export { splitInput } from './search/spans/split-input.js'
export type { RequestPart, TextLocation, TextSpan } from './search/spans/split-input.js'
