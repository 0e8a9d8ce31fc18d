import type { BlameMode } from '@retake/tape'

/** Which steps a fork holds at what was recorded; the others are free. */
export interface Coalition {
  /** In rising order. */
  readonly pinned: readonly number[]
  /**
   * `free`: the other steps happen anew, in the light of what came before them.
   * `frozen`: each gets what would have answered the recorded question, whatever came before.
   */
  readonly mode: BlameMode
}

/** `undefined`: the agent broke, or the oracle could not tell. It counts as neither. */
export type ForkOutcome = 'pass' | 'fail' | 'undefined'

/** Result of one fork. */
export interface Fork {
  readonly outcome: ForkOutcome
  /** Value of each step, comparable with `ForkSource.recorded`; `undefined` if it did not happen. */
  readonly values: readonly (StepValue | undefined)[]
  /** Found among those of an earlier search. */
  readonly isServed?: boolean
  readonly tokens?: number
  readonly costUsd?: number
}

/** Distinguishes results of a step: a tool with its arguments, a class of errors, words. */
export type StepValue = string | number

/** Runs a failed run again. */
export interface ForkSource {
  readonly stepCount: number
  /** Value of each step in the failed run. */
  readonly recorded: readonly StepValue[]
  /** How many forks may be under way at once; 1 unless set. */
  readonly concurrency?: number
  /** One fork is as good as many: the same coalition always comes to the same. */
  readonly isDeterministic?: boolean
  /**
   * Runs it once more. `draw` counts the forks of this coalition from 0: two with the
   * same number may be the same fork, two with different numbers are independent.
   */
  fork(coalition: Coalition, draw: number): Promise<Fork>
}
