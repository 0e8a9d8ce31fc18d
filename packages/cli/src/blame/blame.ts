import type { BlameProgress } from '@retake/diagnose'
import type { OracleFunction } from '../oracle/oracle.js'
import type { FindingsFile } from './findings.js'

/** Options of `blame`, with the same defaults as on the command line. */
export interface BlameRunOptions {
  /**
   * Defines a pass: a text as for `--oracle`, or a function (default: the exit code, or the output
   * of other runs of the same agent).
   */
  readonly oracle?: string | OracleFunction
  /** How to answer free steps, as for `--free`: `get_stock=set:units=0`. */
  readonly free?: readonly string[]
  /** File of a module that answers free steps. */
  readonly simulator?: string
  /** Tools with effects that forks may really run: all, or these (default: none). */
  readonly liveTools?: boolean | readonly string[]
  readonly maxForks?: number
  readonly maxUsd?: number
  readonly timeoutMs?: number
  readonly seed?: number
  /** Maximum number of concurrent forks (default: one per core). */
  readonly jobs?: number
  /** Variables that differ from the recording. */
  readonly env?: Readonly<Record<string, string>>
  /** Folder of the tapes (default: `.retake/runs`). */
  readonly dir?: string
  /** Stops the search, which then returns what it knows so far. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: BlameProgress) => void
}

/**
 * Finds the steps that together made a recorded run fail, as `retake blame` does. `run` is an id or
 * its beginning, a path, or `last`. Starts processes of the recorded agent; tools with effects run
 * only if `liveTools` allows it. Resolves with `undefined` if the run passes. Throws if the tape is
 * not trusted or has no steps, or if its program has changed.
 */
export async function blame(
  run: string,
  options: BlameRunOptions = {},
): Promise<FindingsFile | undefined> {
  const { blameRecorded } = await import('./blame-recorded.js')
  return blameRecorded(run, options)
}
