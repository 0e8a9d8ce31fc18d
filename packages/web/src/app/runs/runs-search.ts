import type { RunStatus } from '@retake/tape/present'
import type { RunCard } from '@retake/tape'
import type { UnreadableRun } from '../../model/run-source.js'

export type ListedRun = RunCard | UnreadableRun

export function filterRuns(
  runs: readonly ListedRun[],
  { text = '', status }: RunsSearch,
): readonly ListedRun[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '' && status === undefined) return runs
  return runs.filter(
    (run) =>
      (status === undefined || listedStatus(run) === status) &&
      wordsOf(run).some((word) => word.toLowerCase().includes(wanted)),
  )
}

/** A run that failed the check of a blame search counts as failed. */
const listedStatus = (run: ListedRun): StatusFilter =>
  'error' in run
    ? 'unreadable'
    : run.failedCheck === true && run.status === 'done'
      ? 'failed'
      : run.status

const wordsOf = (run: ListedRun): readonly string[] => {
  if ('error' in run) return [run.id, run.error.code, run.error.what]
  const { id, name, branch, models = [], input, failure, lastLine, tags = [], note } = run
  const texts = [id, name, branch?.parent, input, failure, lastLine, note]
  return [...texts.filter((each) => each !== undefined), ...models, ...tags]
}

export function countByStatus(
  runs: readonly ListedRun[],
): readonly { readonly status: StatusFilter; readonly count: number }[] {
  const counts = new Map<StatusFilter, number>()
  for (const run of runs) counts.set(listedStatus(run), (counts.get(listedStatus(run)) ?? 0) + 1)
  return STATUS_FILTERS.flatMap((status) => {
    const count = counts.get(status)
    return count === undefined ? [] : [{ status, count }]
  })
}

export const SORTS = ['name', 'model', 'steps', 'tokens', 'cost', 'duration', 'started'] as const
export type RunSort = (typeof SORTS)[number]

const VALUES: Readonly<Record<RunSort, (run: RunCard) => number | string | undefined>> = {
  name: ({ name }) => name.toLowerCase(),
  model: ({ models }) => models?.[0],
  steps: ({ steps }) => steps,
  tokens: ({ tokens }) => tokens,
  cost: ({ costUsd }) => costUsd,
  duration: ({ durationMs }) => durationMs,
  started: ({ startedAt }) => startedAt,
}

export interface ListedRow {
  readonly run: ListedRun
  /** Number of listed ancestors. */
  readonly depth: number
}

/**
 * Sorted rows. By default, branches are below their parents, and the tree with the latest run comes
 * first. Otherwise, each run is sorted separately. Unknown values and unreadable runs come last.
 */
export function sortRuns(runs: readonly ListedRun[], { sort, up }: RunsSearch): ListedRow[] {
  if (sort === undefined) return nestRuns(runs)
  const valueOf = (run: ListedRun): number | string | undefined =>
    'error' in run ? undefined : VALUES[sort](run)
  return runs
    .toSorted((left, right) => {
      const [a, b] = [valueOf(left), valueOf(right)]
      if (a === undefined || b === undefined)
        return Number(a === undefined) - Number(b === undefined)
      const order = a < b ? -1 : a > b ? 1 : 0
      return up === true ? order : -order
    })
    .map((run) => ({ run, depth: 0 }))
}

/** Not recursive, because chains of branches can be long. */
function nestRuns(runs: readonly ListedRun[]): ListedRow[] {
  const listed = new Set(runs.map(({ id }) => id))
  const children = new Map<string | undefined, ListedRun[]>()
  for (const run of runs) {
    const parent = 'error' in run ? undefined : run.branch?.parent
    const key = parent !== undefined && parent !== run.id && listed.has(parent) ? parent : undefined
    const siblings = children.get(key)
    if (siblings === undefined) children.set(key, [run])
    else siblings.push(run)
  }
  const rows: ListedRow[] = []
  const seen = new Set<ListedRun>()
  const family = (root: ListedRun): void => {
    const waiting: ListedRow[] = [{ run: root, depth: 0 }]
    for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
      if (seen.has(row.run)) continue
      seen.add(row.run)
      rows.push(row)
      // `children` are newest first and the stack reverses them, so the oldest follows its parent.
      for (const run of children.get(row.run.id) ?? []) waiting.push({ run, depth: row.depth + 1 })
    }
  }
  const parents = new Map(
    [...children].flatMap(([parent, branches]) =>
      parent === undefined ? [] : branches.map((branch) => [branch.id, parent] as const),
    ),
  )
  const byId = new Map(runs.map((run) => [run.id, run]))
  for (const run of runs) {
    let root = run
    const path = new Set([run.id])
    for (let up = parents.get(root.id); up !== undefined && !path.has(up); up = parents.get(up)) {
      path.add(up)
      root = byId.get(up) ?? root
    }
    if (!seen.has(run)) family(root)
  }
  return rows
}

export interface RunsSearch {
  readonly text?: string
  readonly status?: StatusFilter
  /** Newest first by default, with branches below their parents. */
  readonly sort?: RunSort
  readonly up?: true
}

export type StatusFilter = RunStatus | 'unreadable'

const STATUS_FILTERS = [
  'failed',
  'recording',
  'killed',
  'stopped',
  'cut off',
  'done',
  'unreadable',
] as const satisfies readonly StatusFilter[]

/** Invalid parts are ignored. */
export function readRunsSearch(search: Record<string, unknown>): RunsSearch {
  const { text, status, sort, up } = search
  const known = STATUS_FILTERS.find((each) => each === status)
  const column = SORTS.find((each) => each === sort)
  return {
    ...((typeof text === 'string' || typeof text === 'number') &&
      text !== '' && { text: String(text) }),
    ...(known !== undefined && { status: known }),
    ...(column !== undefined && { sort: column }),
    ...((up === true || up === 'true') && { up: true }),
  }
}
