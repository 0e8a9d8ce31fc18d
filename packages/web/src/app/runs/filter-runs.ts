import type { RunCard, UnreadableRun } from '../../model/run-head.js'
import type { RunsSearch } from './runs-search.js'

export type ListedRun = RunCard | UnreadableRun

/** The runs whose name, id or parent has the text in it, and that stand as asked. */
export function filterRuns(
  runs: readonly ListedRun[],
  { text = '', status }: RunsSearch,
): readonly ListedRun[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '' && status === undefined) return runs
  return runs.filter((run) => {
    const stands = 'error' in run ? 'unreadable' : run.status
    if (status !== undefined && stands !== status) return false
    return wordsOf(run).some((word) => word.toLowerCase().includes(wanted))
  })
}

const wordsOf = (run: ListedRun): readonly string[] =>
  'error' in run
    ? [run.id, run.error.code, run.error.what]
    : [run.id, run.name, run.branch?.parent ?? '']
