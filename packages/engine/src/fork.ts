import { planFork } from './continue/plan-fork.js'
import type { ForkPlanOptions } from './continue/plan-fork.js'
import { openForReplay } from './open-for-replay.js'
import { runContinued } from './run-continued.js'
import type { ContinuedResult } from './run-continued.js'
import { outsideRuns } from './scope.js'

export type ForkOptions = ForkPlanOptions

/**
 * Runs `agent` again from a step of an earlier run: everything before it is
 * served, the step itself is changed or asked again, what follows is live and
 * recorded on a tape of its own. The parent's tape stays as it is.
 */
export async function fork<T>(
  tape: string,
  agent: () => T | Promise<T>,
  options: ForkOptions,
): Promise<ContinuedResult<T>> {
  const plan = outsideRuns(() => planFork(openForReplay(tape), options))
  return runContinued(plan, agent)
}
