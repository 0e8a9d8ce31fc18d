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
export { COMPETING_FAULTS, type CompetingFault } from './blame/models/competing-faults.js'
export {
  brokenRun,
  flakyRun,
  passingRun,
  staircase,
  type StaircaseModel,
} from './blame/models/controls.js'
export { NOISE_LEVELS, type NoiseLevel } from './blame/models/noise.js'
export { randomModel } from './blame/models/random-family.js'
export {
  SCENARIO_NAMES,
  SCENARIOS,
  type Scenario,
  type ScenarioName,
} from './blame/models/scenarios.js'
export {
  accusationOf,
  meanScore,
  scoreMethod,
  type Accusation,
  type BlameMethod,
  type Score,
} from './blame/models/score.js'
export { seededRandom, type Random } from './blame/models/seeded-random.js'
export {
  structuralModel,
  type FailLevels,
  type PlantedModel,
  type Structure,
} from './blame/models/structural-model.js'
export { confidenceSequence } from './blame/stats/confidence-sequence.js'
export type { Interval } from './blame/stats/interval.js'
export { wilson } from './blame/stats/wilson.js'
export { BASELINES, type BaselineName } from './blame/classic/baselines.js'
export {
  classicForks,
  classicView,
  type ClassicOptions,
  type ClassicStep,
  type ClassicView,
} from './blame/classic/classic-view.js'
export { coreShapley } from './blame/classic/core-shapley.js'
export type { FlipRate } from './blame/classic/flip-rates.js'
export { oneByOne } from './blame/classic/one-by-one.js'
export { clopperPearson } from './blame/stats/clopper-pearson.js'
export { priorSteps } from './blame/prior/prior-steps.js'
export type { PriorRole, PriorStep } from './blame/prior/prior-step.js'
export { rankSteps, type PriorWeights } from './blame/prior/rank-steps.js'
export { stepFeatures, type FeatureName, type StepFeatures } from './blame/prior/step-features.js'
export { cautiousPrior, stepPrior } from './blame/prior/step-prior.js'
export { WHO_AND_WHEN_WEIGHTS } from './blame/prior/who-and-when-weights.js'
export { blameSpans, type SpanOptions } from './blame/spans/blame-spans.js'
export { maskRequest, NEUTRAL_TEXT } from './blame/spans/mask-request.js'
export type { AskMasked } from './blame/spans/span-source.js'
export { splitInput } from './blame/spans/split-input.js'
export type { RequestPart, Span, TextPlace } from './blame/spans/text-place.js'
