import { openTape } from '@retake/tape/node'
import { requireTrust } from '../agent/trust.js'
import { makeOracle } from '../oracle/make-oracle.js'
import { RunStore } from '../runs/run-store.js'
import type { BlameRunOptions } from './blame.js'
import { type FindingsFile, writeFindings } from './findings.js'
import { prepareSearch } from './read-search.js'
import { judgeRecording, searchRun } from './search-run.js'

/** Implements `blame`. Loaded by its first call, because recording does not need it. */
export async function blameRecorded(
  run: string,
  options: BlameRunOptions,
): Promise<FindingsFile | undefined> {
  const { oracle, liveTools, dir, signal = new AbortController().signal, onProgress } = options
  const runs = new RunStore(dir)
  const tape = openTape(runs.find(run))
  requireTrust(tape)
  const search = await prepareSearch(
    tape,
    {
      ...options,
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
