import type { RunTrash } from './run-trash.js'
import { type RetainedRun, refusedRuns, removeRuns, RunFamily } from './remove-runs.js'
import { statSync } from 'node:fs'
import { type RunStatus, count, plural } from '@retake/tape/present'
import { project } from '../config/define-config.js'
import { parseAge } from '../parse-age.js'

import type { RunStore } from '../runs/run-store.js'
import type { RunSummary } from '../runs/run-summary.js'

import { type LineParts, linesOf, printJson } from '../terminal/terminal.js'
import type { Options } from '../command-line/verb.js'

/** Selects runs to which all given rules apply. */
export interface RemovalRule {
  /** Started before this time, in epoch milliseconds. */
  readonly before?: number | undefined
  /** Not among the newest n. */
  readonly keep?: number | undefined
  /** Not among the newest runs that fit into this size together. */
  readonly maxBytes?: number | undefined
  readonly outcomes?: ReadonlySet<RunStatus> | undefined
}

export interface Removal {
  readonly removed: readonly string[]
  readonly kept: readonly RetainedRun[]
  /** Size of the removed tapes; missing for named runs. */
  readonly bytes?: number
}

/**
 * Removes runs by rule. Never removes runs that are being recorded, pinned, on hold, younger than
 * the configured floor, unreadable, or continued by a branch that stays.
 */
export function collectRuns(
  store: RunStore,
  rule: RemovalRule,
  { isDry, trash }: { readonly isDry: boolean; readonly trash?: RunTrash },
): Removal {
  const family = new RunFamily(store)
  const sizes = new Map<string, number>()
  // Newest first.
  const { runs } = family
  const { before = Infinity, keep = 0, maxBytes, outcomes } = rule
  let total = 0
  const isWithin = (id: string): boolean => {
    const size = statSync(store.pathOf(id), { throwIfNoEntry: false })?.size ?? 0
    sizes.set(id, size)
    total += size
    return maxBytes !== undefined && total <= maxBytes
  }
  const candidates = [...runs.values()].filter((run, index): run is ReadableRun => {
    const isRetained = isWithin(run.id) || index < keep
    return (
      !isRetained &&
      'startedAt' in run &&
      run.startedAt < before &&
      (outcomes === undefined || outcomes.has(run.status))
    )
  })
  const floor = Date.now() - (parseAge(project().retention.floor) ?? 0)
  const young = candidates.filter(({ startedAt }) => startedAt > floor)
  const old = candidates.filter(({ startedAt }) => startedAt <= floor).map(({ id }) => id)
  const refused = refusedRuns(family, old)
  const stay = new Set(refused.map(({ id }) => id))
  const ids = old.filter((id) => !stay.has(id))
  const done = isDry ? { removed: ids, kept: [] } : removeRuns(store, family, ids, trash)
  const kept: RetainedRun[] = young.map(({ id }) => ({ id, why: 'young' }))
  return {
    removed: done.removed,
    kept: [...kept, ...refused, ...done.kept],
    bytes: done.removed.reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0),
  }
}

type ReadableRun = Extract<RunSummary, { readonly startedAt: number }>

/** Number of kept runs listed by name. `--json` has all of them. */
const NAMED_MAX = 10

/** Prints a removal to stderr, and the runs of a dry run to stdout. */
export function printRemoval(
  options: Options,
  json: object,
  { removed, kept }: Removal,
  more: LineParts = [],
): void {
  if (options.json) {
    printJson(json)
    return
  }
  const isDry = options.flag('dry-run')
  if (isDry) for (const id of removed) console.log(id)
  const young = kept.filter(({ why }) => why === 'young').length
  const others = kept.filter(({ why }) => why !== 'young')
  const lines = linesOf(
    `${isDry ? 'would remove' : 'removed'} ${plural(removed.length, 'run')}`,
    ...others.slice(0, NAMED_MAX).map((each) => `kept ${each.id}: ${reasonOf(each)}`),
    others.length > NAMED_MAX && `kept ${count(others.length - NAMED_MAX)} more`,
    young > 0 &&
      `kept ${plural(young, 'run')} younger than ${project().retention.floor} (retention.floor)`,
    ...more,
  )
  process.stderr.write(`${lines.join('\n')}\n`)
}

function reasonOf({ why, branches = [] }: RetainedRun): string {
  if (why === 'branches')
    return `${branches.join(', ')} ${branches.length === 1 ? 'continues' : 'continue'} it`
  if (why === 'on hold') return 'it is on hold'
  if (why === 'pinned') return 'it is pinned'
  return why === 'recording' ? 'it is being recorded' : 'it is gone'
}
