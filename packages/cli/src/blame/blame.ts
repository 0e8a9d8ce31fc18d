import type { BlameProgress } from '@retake/diagnose'
import type { OracleFunction } from '../oracle/oracle.js'
import type { FindingsFile } from './findings.js'

/** Options of `blame`. Those that are left out are as on the command line. */
export interface BlameRunOptions {
  /**
   * Defines passing: a text as `--oracle` takes it, or a function. Missing: the exit code, or
   * what other runs of the same agent printed.
   */
  readonly oracle?: string | OracleFunction
  /** How free steps are answered, as `--free` takes it: `get_stock=set:units=0`. */
  readonly free?: readonly string[]
  /** File of a module that answers free steps. */
  readonly simulator?: string
  /** Tools with effects that forks may really run: all, or these. None unless set. */
  readonly liveTools?: boolean | readonly string[]
  readonly maxForks?: number
  readonly maxUsd?: number
  readonly timeoutMs?: number
  readonly seed?: number
  /** Forks at a time; one per core unless set. */
  readonly jobs?: number
  /** Variables that differ from the recording. */
  readonly env?: Readonly<Record<string, string>>
  /** Folder of the tapes; `.retake/runs` unless set. */
  readonly dir?: string
  /** Stops the search; the result is what is known by then. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: BlameProgress) => void
}

/**
 * Finds the steps that together made a recorded run fail, as `retake blame` does. `run` is an
 * id, the start of one, a path, or `last`. Starts processes of the recorded agent; nothing with
 * effects really runs unless `liveTools` allows it. Resolves with `undefined` if the run passes.
 * Throws if the tape is not trusted, has no steps, or its program has changed.
 */
export async function blame(
  run: string,
  options: BlameRunOptions = {},
): Promise<FindingsFile | undefined> {
  const { blameRecorded } = await import('./blame-recorded.js')
  return blameRecorded(run, options)
}
