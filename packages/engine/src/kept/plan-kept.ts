import type { Tape } from '@retake/tape'
import type { ContinuePlan } from '../continue/continue-plan.js'
import type { KeptPlan } from './kept-plan.js'

export interface KeptForkOptions extends KeptPlan {
  /** Folder for the tape of the fork; beside its parent unless set. */
  readonly folder?: string
}

/**
 * How a run goes on with some steps held at what was recorded. Everything before
 * the first free step is served; all steps kept is a replay.
 */
export function planKept(tape: Tape, options: KeptForkOptions): ContinuePlan {
  throw new Error(`not built: ${tape.path} ${options.mode}`)
}
