/** The guard as part of the library, and what it reads from `retake.config`. */
import { currentSession, outsideRuns } from '@retake/engine'
import { useGuardDefaults } from '@retake/guard'
import { findConfig, project } from '@retake/runner/config'
import { attempt } from '@retake/tape/format'
import '../guard/json-schema.js'
import { readProject } from './record-in-project.js'

export { baselineFrom, driftScore, guard, GuardError, presets } from '@retake/guard'
export type {
  Baseline,
  BaselineOptions,
  BreakerLimits,
  CallOptions,
  CallRecord,
  CallInDoubt,
  CallLimits,
  Contract,
  Denial,
  ApprovalDecision,
  ApprovalOptions,
  ApprovalRequest,
  Approver,
  DoneCall,
  EndedGuard,
  GuardedStep,
  GuardedToolOptions,
  GuardOptions,
  GuardResult,
  GuardRun,
  InDoubtChoice,
  InDoubtDecision,
  Limits,
  Policy,
  OnArgumentDrift,
  PolicyProblem,
  Rule,
  Schema,
  StandardSchema,
  ToolContext,
  ToolFunction,
  UndoneCall,
} from '@retake/guard'
export { loadPolicy } from './load-policy.js'

/** A guard outside of a recording opens its own tape, to which the settings apply as well. */
useGuardDefaults(() => {
  if (currentSession() !== undefined) return undefined
  // A sandboxed tool may not be allowed to read the file, and the folder may be gone.
  const file = outsideRuns(() => attempt(() => findConfig(process.cwd())))
  if (file === undefined) return undefined
  return readProject().then(() => {
    const { recording, seal } = project()
    return {
      ...(recording.redact && { redact: recording.redact }),
      ...(seal.sign !== undefined && { sign: seal.sign }),
    }
  })
})
