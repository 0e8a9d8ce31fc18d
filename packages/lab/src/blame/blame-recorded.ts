import { type OracleFunction, makeOracle } from '@retake/runner/oracle'
import { openTape } from '@retake/tape/node'
import { requireTrust } from '@retake/runner/agent'
import { RecordedCode } from '@retake/runner/sources'
import { RunStore } from '@retake/runner/runs'
import type { BlameProgress } from '../search/search.js'
import { type FindingsFile, writeFindings } from './findings.js'
import { prepareSearch } from './read-search.js'
import { judgeRecording, searchRun } from './search-run.js'

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

/** Implements `blame`. Loaded by its first call, because recording does not need it. */
export async function blameRecorded(
  run: string,
  options: BlameRunOptions,
): Promise<FindingsFile | undefined> {
  const { oracle, liveTools, dir, signal = new AbortController().signal, onProgress } = options
  const runs = new RunStore(dir)
  const tape = openTape(runs.find(run))
  requireTrust(tape)
  using code = RecordedCode.ofChanged(tape)
  const search = await prepareSearch(
    tape,
    {
      ...options,
      code,
      runs,
      oracle: oracle === undefined ? undefined : await makeOracle(oracle, { recorded: tape }),
      liveTools:
        typeof liveTools === 'boolean' ? (liveTools ? '' : undefined) : liveTools?.join(','),
    },
    signal,
  )
  if ((await judgeRecording(search, signal)).verdict === 'pass') return undefined
  const found = await searchRun({ ...search, ...(onProgress && { onProgress }) })
  writeFindings(tape.path, found)
  return found
}
