export { answerFrom, type AnswerFromOptions, type AnsweredResult } from './library/answer-from.js'
export { currentRecording, currentRun, type CurrentRun } from './library/current-run.js'
export { runIdentity, type RunIdentity } from './runs/run-identity.js'
export type {
  ContinuePlan,
  AmbientPlan,
  ChildPlan,
  FreeAnswer,
  PinnedPlan,
  PinnedReport,
  SimulatedStep,
  Simulator,
  LiveReport,
  LiveRules,
} from './player/plan.js'
export type { InDoubtPolicy, SettledDoubt } from './kernel/settle-doubts.js'
export type { InDoubt } from './player/find-doubts.js'
export {
  planFork,
  planPinned,
  planRerun,
  planResume,
  type PinnedForkOptions,
  type RerunPlanOptions,
} from './player/make-plan.js'
export type { ToolResultPlan } from './player/tool-results.js'
export { searchableSteps } from './player/pinned-matcher.js'
export {
  forkPinned,
  fork,
  rerun,
  resume,
  type ForkPinnedOptions,
  type ForkOptions,
  type ResumeOptions,
  type ContinuedResult,
} from './library/run-again.js'
export {
  discardOverlay,
  keepOverlay,
  overlayChanges,
  type FileChange,
} from './overlay/overlay-changes.js'
export {
  install,
  installInRealm,
  installShims,
  isInstalled,
  uninstall,
} from './boundaries/install.js'
export { childrenFolder } from './runs/runs-folder.js'
export { declarePureAddons } from './boundaries/native/addons.js'
export { ignoreRunner } from './kernel/call-site.js'
export { ReplayDiverged, RetakeError } from './errors.js'
export type {
  DeferredPreloads,
  CallSites,
  ChaosReport,
  ContinueReport,
  FunctionCall,
  ProcessTask,
  ReplayReport,
} from './plans/process-task.js'
export type { MovedRoot } from './player/moved-tape.js'
export { eachWithin, scopesFrom, within } from './library/framework-scopes.js'
export {
  defineAgent,
  entryOfAgent,
  record,
  runOfError,
  type RecordedRun,
  type RecordOptions,
  type RecordResult,
} from './library/record.js'
export type { Durability } from '@retake/tape/format'
export { replay, type ReplayFunctionOptions } from './library/replay.js'
export { currentSession, outsideRuns } from './kernel/scope.js'
export type { Recording } from './kernel/session.js'
export type { Swap } from './player/turns.js'
export type { DivergenceKind } from './kernel/divergence.js'
export type { Divergence } from './texts/divergence-text.js'
export type { Mismatch } from './kernel/compare.js'
export { sharedQueue } from './boundaries/shared/shared-queues.js'
export { tool, type ToolOptions } from './library/tool.js'
