import type { AmbientInput, BlameMode } from '@retake/tape'

/** Identifies a fork: the steps and ambient inputs that are pinned. All others are free. */
export interface Coalition {
  /** Steps that get their recorded answers, in ascending order. */
  readonly pinned: readonly number[]
  /**
   * `free`: the other steps run again, after whatever came before them. `frozen`: each is answered
   * as if the recorded request had been sent, whatever came before.
   */
  readonly mode: BlameMode
  /**
   * Ambient inputs served from the tape, by their index in `ForkSource.ambient`, ascending. All
   * others are live from the start.
   */
  readonly ambient: readonly number[]
  /** Steps that get their answers from another fork. */
  readonly given?: readonly Transplant[]
}

/** The answer of a step in another fork that has no transplants itself. */
export interface Transplant {
  readonly step: number
  readonly from: Coalition
  readonly draw: number
}

/** `undefined`: the agent broke, or the oracle could not decide. Counts as neither. */
export type ForkOutcome = 'pass' | 'fail' | 'undefined'

export interface Fork {
  readonly outcome: ForkOutcome
  /** Value of each step, comparable with `ForkSource.recorded`; `undefined` if the step did not happen. */
  readonly values: readonly (StepValue | undefined)[]
  /** Number of pinned steps that got their recorded answer to a changed request. */
  readonly forced?: number
  /** True if an earlier search ran it. */
  readonly isServed?: boolean
  readonly tokens?: number
  readonly costUsd?: number
}

/** Distinguishes results of a step: a tool with its arguments, a class of errors, words. */
export type StepValue = string | number

export interface ForkSource {
  readonly stepCount: number
  /** Value of each step in the failed run. */
  readonly recorded: readonly StepValue[]
  /** Inputs of the run besides its steps, in order of first use; empty if none could matter. */
  readonly ambient: readonly AmbientInput[]
  /** Maximum number of concurrent forks (default: 1). */
  readonly concurrency?: number
  /** True if the same coalition always has the same result, so one fork is enough. */
  readonly isDeterministic?: boolean
  /**
   * Runs the coalition once more. `draw` counts its forks from 0: two forks with the same number
   * may be the same fork; two with different numbers are independent.
   */
  fork(coalition: Coalition, draw: number): Promise<Fork>
}
