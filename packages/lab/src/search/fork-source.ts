import type { AmbientInput, BlameMode } from '@retake/tape'

/** The steps and ambient inputs that a fork pins. Everything else is free. */
export interface Coalition {
  /** Steps that get their recorded answers, in ascending order. */
  readonly pinned: readonly number[]
  /**
   * `free`: the other steps run again, with whatever input they get. `frozen`: each other step runs
   * again with its recorded request.
   */
  readonly mode: BlameMode
  /**
   * Ambient inputs served from the tape, as ascending indexes in `ForkSource.ambient`. All others
   * are live from the start.
   */
  readonly ambient: readonly number[]
  /** Steps that get their answers from another fork. */
  readonly given?: readonly Transplant[]
}

/** The answer of a step in another fork, which has no transplants itself. */
export interface Transplant {
  readonly step: number
  readonly from: Coalition
  readonly draw: number
}

/** `undefined`: the agent broke, or the oracle could not decide. Counts as neither. */
export type ForkOutcome = 'pass' | 'fail' | 'undefined'

export interface Fork {
  readonly outcome: ForkOutcome
  /** Comparable with `ForkSource.recorded`; `undefined` for a step that did not happen. */
  readonly values: readonly (StepValue | undefined)[]
  /** True if it ended with the uncaught error of the failed run. */
  readonly repeatsError?: boolean
  /** Number of pinned steps that got their recorded answer although their request had changed. */
  readonly forced?: number
  /** True if the result comes from an earlier search. */
  readonly isServed?: boolean
  readonly tokens?: number
  readonly costUsd?: number
}

/** Distinguishes results of a step: a tool with its arguments, a class of errors, or words. */
export type StepValue = string | number

export interface ForkSource {
  readonly stepCount: number
  /** Value of each step in the failed run. */
  readonly recorded: readonly StepValue[]
  /** Inputs of the run besides its steps, in order of first use; empty if none could matter. */
  readonly ambient: readonly AmbientInput[]
  /** Names of inputs that every fork gets as recorded (default: none). */
  readonly alwaysPinned?: readonly string[]
  /** Maximum number of concurrent forks (default: 1). */
  readonly concurrency?: number
  /** True if a coalition always has the same result, so that one fork is enough. */
  readonly isDeterministic?: boolean
  /**
   * Forks the coalition once more. `draw` numbers its forks from 0: forks with the same number may
   * be the same fork; forks with different numbers are independent.
   */
  fork(coalition: Coalition, draw: number): Promise<Fork>
}
