import type { BlameFindings, Probe } from '@retake/tape'
import type { ForkSource } from './fork-source.js'

export interface BlameOptions {
  /** What people call each step; their places from 1 unless set. */
  readonly labels?: readonly string[]
  /** How likely each step is to be the cause before any fork; it only orders the search. */
  readonly prior?: readonly number[]
  /** Probability of a wrong decision that each test may have; 0.01 unless set. */
  readonly errorRate?: number
  /** At most this many forks. */
  readonly maxForks?: number
  /** At most this much money, as far as forks report it. */
  readonly maxUsd?: number
  /** Ends the search; what is known by then is the result. */
  readonly signal?: AbortSignal
  /** Chooses audits; the same seed asks the same questions. */
  readonly seed?: number
  /** At most this many causes; 4 unless set. */
  readonly maxCauses?: number
  /** Whether steps that repeat a cause are told from those that are clear; true unless set. */
  readonly echoes?: boolean
  /** Told after each fork. */
  readonly onProgress?: (progress: BlameProgress) => void
}

export interface BlameProgress {
  readonly forks: number
  /** About how many more are needed. */
  readonly remaining: number
  readonly probe: Probe
}

/** Finds which steps together made a run fail, in as few forks as possible. */
export async function blameRun(
  source: ForkSource,
  options: BlameOptions = {},
): Promise<BlameFindings> {
  throw new Error(`not built: ${source.stepCount} ${options.seed}`)
}
