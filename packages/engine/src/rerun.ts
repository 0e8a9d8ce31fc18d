import { planRerun } from './continue/plan-rerun.js'
import { openForReplay } from './open-for-replay.js'
import { runContinued } from './run-continued.js'
import type { ContinuedResult } from './run-continued.js'
import { outsideRuns } from './scope.js'

/**
 * Runs today's `agent` against a tape: everything it still asks for in the same
 * way is served, from the first difference on it is live and recorded as a branch.
 */
export async function rerun<T>(
  tape: string,
  agent: () => T | Promise<T>,
): Promise<ContinuedResult<T>> {
  const plan = outsideRuns(() => planRerun(openForReplay(tape)))
  return runContinued(plan, agent)
}
