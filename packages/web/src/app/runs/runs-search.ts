import type { RunStatus } from '@retake/tape/present'
import type { RunCard, UnreadableRun } from '../../model/run-source.js'

export type ListedRun = RunCard | UnreadableRun

export function filterRuns(
  runs: readonly ListedRun[],
  { text = '', status }: RunsSearch,
): readonly ListedRun[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '' && status === undefined) return runs
  return runs.filter((run) => {
    const actual = 'error' in run ? 'unreadable' : run.status
    if (status !== undefined && actual !== status) return false
    return wordsOf(run).some((word) => word.toLowerCase().includes(wanted))
  })
}

const wordsOf = (run: ListedRun): readonly string[] =>
  'error' in run
    ? [run.id, run.error.code, run.error.what]
    : [run.id, run.name, run.branch?.parent ?? '']

export interface RunsSearch {
  readonly text?: string
  readonly status?: StatusFilter
}

export type StatusFilter = RunStatus | 'unreadable'

export const STATUS_FILTERS = [
  'done',
  'failed',
  'killed',
  'recording',
  'unreadable',
] as const satisfies readonly StatusFilter[]

/** Invalid parts are ignored. */
export function readRunsSearch(search: Record<string, unknown>): RunsSearch {
  const { text, status } = search
  const known = STATUS_FILTERS.find((each) => each === status)
  return {
    ...((typeof text === 'string' || typeof text === 'number') && text !== ''
      ? { text: String(text) }
      : {}),
    ...(known !== undefined && { status: known }),
  }
}
