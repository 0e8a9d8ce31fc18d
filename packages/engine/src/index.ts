export { answerFrom } from './answer-from.js'
export type { AnswerFromOptions, AnsweredResult } from './answer-from.js'
export { closestName } from './closest-name.js'
export { currentRun } from './current-run.js'
export type { CurrentRun } from './current-run.js'
export type { ContinuePlan, InDoubtPolicy, SettledDoubt } from './continue/continue-plan.js'
export { findInDoubt } from './continue/in-doubt.js'
export type { InDoubt } from './continue/in-doubt.js'
export { planFork } from './continue/plan-fork.js'
export type {
  FreeAnswer,
  KeptPlan,
  KeptReport,
  SimulatedStep,
  Simulator,
} from './kept/kept-plan.js'
export { planKept, type KeptForkOptions } from './kept/plan-kept.js'
export { planRerun } from './continue/plan-rerun.js'
export { overlayOf, planResume } from './continue/plan-resume.js'
export { searchableSteps } from './kept/searchable-steps.js'
export { forkKept } from './fork-kept.js'
export type { ForkKeptOptions } from './fork-kept.js'
export { GuardError } from './guard/guard-error.js'
export type { Denial } from './guard/guard-error.js'
export { fork } from './fork.js'
export type { ForkOptions } from './fork.js'
export { rerun } from './rerun.js'
export { resume } from './resume.js'
export type { ResumeOptions } from './resume.js'
export type { ContinuedResult } from './run-continued.js'
export {
  discardOverlay,
  isOverlay,
  keepOverlay,
  overlayChanges,
} from './overlay/overlay-changes.js'
export type { FileChange } from './overlay/overlay-changes.js'
export { install, isInstalled, uninstall } from './boundaries/install.js'
export { currentRecording } from './current-recording.js'
export { installInRealm } from './boundaries/realm.js'
export { ignoreRunner } from './call-site.js'
export { ReplayDiverged, RetakeError } from './errors.js'
export { movedTape } from './process/moved-tape.js'
export { PRELOADS_VARIABLE, TASK_VARIABLE } from './process-task.js'
export type {
  HeldPreloads,
  CallSites,
  ChaosReport,
  ContinueReport,
  MovedRoot,
  ProcessTask,
  ReplayReport,
} from './process-task.js'
export { eachWithin, placesFrom, within } from './places.js'
export { record, runOfError } from './record.js'
export type { RecordedRun, RecordOptions, RecordResult } from './record.js'
export { replay } from './replay.js'
export type { ReplayFunctionOptions } from './replay.js'
export { newRunId } from './run-id.js'
export { prepareRunsFolder } from './runs-folder.js'
export { currentSession, outsideRuns } from './scope.js'
export { isSurrounding, loadsCode, withSurroundings } from './environment.js'
export { holdsSecret, looksSecret, PLACEHOLDER } from './secrets.js'
export type { Recording } from './sessions/recording.js'
export type { Swap } from './answers/delivery-order.js'
export type { Divergence, DivergenceKind } from './sessions/divergence.js'
export type { Mismatch } from './signature.js'
export { isTrustedRun, trustRecording, trustRun, trustedRunsFile } from './trusted-runs.js'
export { tool } from './tool.js'
export type { ToolOptions } from './tool.js'
