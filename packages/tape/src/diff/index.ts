export { diffRuns } from './diff-runs.js'
export { type ValueDiff } from './json-diff.js'
export { asJson, parseContainer } from './json-value.js'
export { type LineDiff, type OutputStream, type PrintedLine } from './output-diff.js'
export {
  DIFF_AREAS,
  type DiffArea,
  type DiffOptions,
  type FirstDivergence,
  type RunDiff,
  type RunSide,
  type SharedPart,
  type StepDiff,
  type StepRef,
} from './run-diff.js'
export { type FieldDiff } from './step-content.js'
export { type ChangedTool, type ToolListDiff } from './tool-list-diff.js'
