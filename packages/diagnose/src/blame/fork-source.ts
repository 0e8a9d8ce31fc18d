import type { AmbientInput, BlameMode } from '@retake/tape'

/** Names a fork: which steps and ambient inputs get what was recorded. All others are free. */
export interface Coalition {
  /** Steps that get their recorded answers, in rising order. */
  readonly pinned: readonly number[]
  /**
   * `free`: the other steps run again, after whatever came before them.
   * `frozen`: each is answered as if the recorded request had been sent, whatever came before.
   */
  readonly mode: BlameMode
  /** Ambient inputs served from the tape, by their index in `ForkSource.ambient`, rising. All others are live from the start. */
  readonly ambient: readonly number[]
  /** Steps that get what they said in another fork. */
  readonly given?: readonly Transplant[]
}

/** An answer of a step in another fork, which has no transplant itself. */
export interface Transplant {
  readonly step: number
  readonly from: Coalition
  readonly draw: number
}

/** `undefined`: the agent broke, or the oracle could not tell. It counts as neither. */
export type ForkOutcome = 'pass' | 'fail' | 'undefined'

/** Result of one fork. */
export interface Fork {
  readonly outcome: ForkOutcome
  /** Value of each step, comparable with `ForkSource.recorded`; `undefined` if it did not happen. */
  readonly values: readonly (StepValue | undefined)[]
  /** How many pinned steps got their recorded answers to another request than the recorded one. */
  readonly forced?: number
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
  /** Inputs of the run besides its steps, in order of first use; empty if none could matter. */
  readonly ambient: readonly AmbientInput[]
  /** Maximum number of concurrent forks (default: 1). */
  readonly concurrency?: number
  /** One fork is as good as many: the same coalition always comes to the same. */
  readonly isDeterministic?: boolean
  /**
   * Runs it once more. `draw` counts the forks of this coalition from 0: two with the
   * same number may be the same fork, two with different numbers are independent.
   */
  fork(coalition: Coalition, draw: number): Promise<Fork>
}
