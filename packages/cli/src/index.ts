/**
 * Entry point of the library. Importing it replaces the functions that a program may copy before
 * its first run, so import it before the SDKs you use; the first run installs everything else.
 * While no run is active, every replaced function calls the native one.
 */
import { installShims } from '@retake/engine'

export * from './library/blame.js'
export { defineConfig } from '@retake/runner/config'
export type { BlameConfig, ModelPrice, RetakeConfig } from '@retake/runner/config'
export type { JudgeOptions } from '@retake/runner/oracle'
export type { OracleAnswer, OracleFunction, RunOutcome, Verdict } from '@retake/runner/oracle'

export { recordInProject as record } from './library/record-in-project.js'
export {
  answerFrom,
  defineAgent,
  eachWithin,
  fork,
  runIdentity as currentRun,
  scopesFrom,
  replay,
  ReplayDiverged,
  rerun,
  resume,
  RetakeError,
  runOfError,
  sharedQueue,
  tool,
  tool as boundary,
  uninstall,
  within,
} from '@retake/engine'
export * from './library/guard.js'
export type {
  AnsweredResult,
  AnswerFromOptions,
  ContinuedResult,
  Divergence,
  DivergenceKind,
  Durability,
  ForkOptions,
  InDoubtPolicy,
  Mismatch,
  RecordedRun,
  RecordOptions,
  RecordResult,
  ReplayFunctionOptions,
  ResumeOptions,
  RunIdentity,
  SettledDoubt,
  ToolOptions,
} from '@retake/engine'
export { guardedCalls, guardSavings, readRun, TapeError } from '@retake/tape'
export type {
  AmbientInput,
  BlameFindings,
  Effect,
  Exchange,
  GuardedCallOnTape,
  GuardSavings,
  Message,
  FrameworkScope,
  FrameworkScopeKind,
  RunTotals,
  RunView,
  Step,
  Tape,
  TapeEvent,
} from '@retake/tape'
export { openTape } from '@retake/tape/node'

installShims()
