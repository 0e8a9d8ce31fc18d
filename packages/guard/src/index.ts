/**
 * Guarded tool calls, built on the engine's hook. Recording, replaying and reading runs work without
 * this package. The first guard of a process installs its patches.
 */
export { baselineFrom, driftScore } from './contract/baseline.js'
export type { Baseline, BaselineOptions, OnArgumentDrift } from './contract/baseline.js'
export { boundedCheck, useJsonSchema } from './contract/check-schema.js'
export type { JsonSchemaCheck, JsonSchemaCompiler } from './contract/check-schema.js'
export type { Contract, Schema, StandardSchema } from './contract/contract.js'
export {
  approvalPublicKey,
  decideApproval,
  approvalDigest,
  pendingApprovals,
  approvalText,
} from './approval/approval-files.js'
export type { PendingApproval } from './approval/approval-files.js'
export { userName } from './approval/prompt-terminal.js'
export type {
  ApprovalDecision,
  ApprovalOptions,
  ApprovalRequest,
  Approver,
} from './approval/request-approval.js'
export { checkGuardTools, type GuardOptions } from './check-options.js'
export { guard } from './guard.js'
export { useGuardDefaults } from './resume/guard-tapes.js'
export { GuardError, type Denial } from './denials/guard-error.js'
export { thrownIn } from './denials/thrown-error.js'
export type {
  GuardedTool,
  GuardedToolOptions,
  ToolContext,
  ToolFunction,
} from './contract/guarded-tool.js'
export type { CallRecord, DoneCall, GuardedStep, GuardResult, UndoneCall } from './guard-outcome.js'
export type { CallOptions, EndedGuard, GuardRun } from './guard.js'
export type { BreakerLimits, CallLimits, Limits } from './limits/limits.js'
export type { CallInDoubt, InDoubtChoice, InDoubtDecision } from './resume/earlier-runs.js'
export { protectOwnFiles } from './paths/own-files.js'
export { checkPolicy } from './policy/policy.js'
export type { DataProblem as PolicyProblem } from '@retake/engine/schema'
export { CompiledPolicy, judgeCalls, PolicyInvalid } from './policy/compiled-policy.js'
export type { JudgedCall, PolicyJudgement } from './policy/compiled-policy.js'
export { CallHistory, type PastCall } from './policy/call-history.js'
export { LinearPattern } from './policy/linear-pattern.js'
export { presets } from './policy/presets.js'
export type { Conditions, Earlier, Policy, Predicate, Rule, Taint, When } from './policy/policy.js'
