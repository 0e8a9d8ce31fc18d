export {
  ALL_RUNS_OPTIONS,
  type ChosenRun,
  type SkippedRun,
  chooseRuns,
  inspectRuns,
} from './all-runs.js'
export {
  checkEnd,
  explainingDivergence,
  probeAgent,
  spawnProbe,
  stopAtStep,
  withProbe,
} from './probe-agent.js'
export { captureStates, capturedState, readStates, stateFileOf, writeStates } from './state-file.js'
export { checkExpression, runStepPrompt } from './step-prompt.js'
export {
  locationText,
  recordedLine,
  recordedLines,
  sourceExcerpt,
  sourceLine,
  stopJson,
  stopLines,
  variableLines,
} from './stop-lines.js'
