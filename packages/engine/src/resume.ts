import { planResume } from './continue/plan-resume.js'
import type { ResumePlanOptions } from './continue/plan-resume.js'
import { openForReplay } from './open-for-replay.js'
import { runContinued } from './run-continued.js'
import type { ContinuedResult } from './run-continued.js'
import { outsideRuns } from './scope.js'

export type ResumeOptions = ResumePlanOptions

/**
 * Goes on with a run that was stopped: what its tape holds is served, then
 * `agent` is live and recorded. A killed run is continued on its own tape, one
 * that ended with an error on a branch. Steps in doubt are never repeated unless
 * `inDoubt` says so.
 */
export async function resume<T>(
  tape: string,
  agent: () => T | Promise<T>,
  options: ResumeOptions = {},
): Promise<ContinuedResult<T>> {
  const plan = outsideRuns(() => planResume(openForReplay(tape), options))
  return runContinued(plan, agent)
}
