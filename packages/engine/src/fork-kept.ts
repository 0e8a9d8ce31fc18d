import { loadSimulator } from './kept/load-simulator.js'
import type { Simulator } from './kept/kept-plan.js'
import { planKept } from './kept/plan-kept.js'
import type { KeptForkOptions } from './kept/plan-kept.js'
import { openForReplay } from './open-for-replay.js'
import { runContinued } from './run-continued.js'
import type { ContinuedResult } from './run-continued.js'
import { outsideRuns } from './scope.js'

export interface ForkKeptOptions extends Omit<KeptForkOptions, 'simulator'> {
  /** The function itself, or the file of a module that exports it. */
  readonly simulator?: Simulator | string
}

/**
 * Runs `agent` again with some steps of an earlier run held at what was recorded and
 * the others free: everything before the first free step is served, what follows is
 * recorded on a tape of its own. The earlier tape stays as it is.
 */
export async function forkKept<T>(
  tape: string,
  agent: () => T | Promise<T>,
  { simulator, ...options }: ForkKeptOptions,
): Promise<ContinuedResult<T>> {
  const file = typeof simulator === 'string' ? { simulator } : {}
  const plan = outsideRuns(() => planKept(openForReplay(tape), { ...options, ...file }))
  const loaded = typeof simulator === 'function' ? simulator : await loadSimulator(plan)
  return runContinued(plan, agent, { simulator: loaded })
}
