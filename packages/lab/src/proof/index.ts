/** From a failed run to a proven fix. Starts no process: callers run the agent. */
export type * from './candidates.js'
export { clusterFailures } from './cluster-failures.js'
export type { FailedRun, FailureCluster } from './cluster-failures.js'
export { concurrentRefusals } from './operators/lifecycle.js'
export { proposeFixes } from './propose-fixes.js'
export { detectSymptoms, failureOf } from './symptoms.js'
export type { FailureError, ResultRule, Symptom, SymptomClass, SymptomContext } from './symptoms.js'
export { DEFAULT_FIX_FORKS, FixProof } from './prove-fixes.js'
export type {
  CorpusResult,
  FixEvidence,
  FixResult,
  FixTrial,
  FixVerdict,
  JudgedFix,
  ProveOptions,
  TrialCounts,
  TrialSource,
} from './prove-fixes.js'
export { changedLines } from './rank-fixes.js'
