export { answerFrom } from './answer-from.js'
export type { AnswerFromOptions, AnsweredResult } from './answer-from.js'
export { closestName } from './closest-name.js'
export { currentRun } from './current-run.js'
export type { CurrentRun } from './current-run.js'
export type { ContinuePlan, InDoubtPolicy, SettledDoubt } from './player/plan.js'
export { findInDoubt } from './player/in-doubt.js'
export type { InDoubt } from './player/in-doubt.js'
export { planFork } from './player/make-plan.js'
export type {
  FreeAnswer,
  PinnedPlan,
  PinnedReport,
  SimulatedStep,
  Simulator,
} from './player/plan.js'
export { planPinned, type PinnedForkOptions } from './player/make-plan.js'
export { planRerun } from './player/make-plan.js'
export { overlayOf, planResume } from './player/make-plan.js'
export { searchableSteps } from './player/pinned-matcher.js'
export { forkPinned } from './run-again.js'
export type { ForkPinnedOptions } from './run-again.js'
export { fork } from './run-again.js'
export type { ForkOptions } from './run-again.js'
export { rerun } from './run-again.js'
export { resume } from './run-again.js'
export type { ResumeOptions } from './run-again.js'
export type { ContinuedResult } from './run-again.js'
export {
  discardOverlay,
  isOverlay,
  keepOverlay,
  overlayChanges,
} from './overlay/overlay-changes.js'
export type { FileChange } from './overlay/overlay-changes.js'
export { install, installShims, isInstalled, uninstall } from './boundaries/install.js'
export { currentRecording } from './current-recording.js'
export { installInRealm } from './boundaries/realm.js'
export { ignoreRunner } from './call-site.js'
export { ReplayDiverged, RetakeError } from './errors.js'
export { movedTape } from './process/moved-tape.js'
export type {
  DeferredPreloads,
  CallSites,
  ChaosReport,
  ContinueReport,
  MovedRoot,
  ProcessTask,
  ReplayReport,
} from './process-task.js'
export { eachWithin, scopesFrom, within } from './framework-scopes.js'
export { record, runOfError } from './record.js'
export type { Durability } from '@retake/tape/format'
export type { RecordedRun, RecordOptions, RecordResult } from './record.js'
export { replay } from './replay.js'
export type { ReplayFunctionOptions } from './replay.js'
export { currentSession, outsideRuns } from './scope.js'
export { containsSecret, looksSecret, PLACEHOLDER } from './secrets.js'
export type { Recording } from './sessions/recording.js'
export type { Swap } from './player/turns.js'
export type { Divergence, DivergenceKind } from './player/divergence.js'
export type { Mismatch } from './player/compare.js'
export { tool } from './tool.js'
export type { ToolOptions } from './tool.js'
