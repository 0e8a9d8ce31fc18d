import { count, plural } from '@retake/tape/present'
import { DIR_OPTION, usageError, type Verb } from '../command-line/verb.js'
import { type RetainedRun, refusedRuns, removeRuns, RunFamily } from '../runs/remove-runs.js'
import type { RunSummary } from '../runs/run-summary.js'
import { printJson } from '../terminal/terminal.js'
import { sinceOf } from './list.js'

export default {
  arguments: '',
  description: `Removes old runs and what belongs to them. Options narrow each other down: only runs to which
all of them apply are removed.
These stay: runs that are being recorded, runs with the tag \`pin\` (\`retake tag last +pin\`), runs
whose tape cannot be read, and runs that a branch continues, unless the branch is removed, too.`,
  options: {
    '--older-than <age>':
      'runs that started before then: 12h, 30d, 8w, or a date such as 2026-11-15',
    '--keep <n>': 'all but the newest n runs',
    '--failed-only': 'runs that failed or were killed',
    '--dry-run': 'print what would be removed, and remove nothing',
    ...DIR_OPTION,
    '--json': 'print the removed and the kept runs as JSON',
  },
  examples: [
    'retake prune --older-than 30d --dry-run',
    'retake prune --older-than 30d --keep 1000',
    'retake prune --failed-only --older-than 7d',
  ],
  run(options) {
    const before = sinceOf(options, 'older-than')
    const keep = options.number('keep')
    const isFailedOnly = options.flag('failed-only')
    if (before === undefined && keep === undefined && !isFailedOnly)
      throw usageError(
        'Nothing says which runs to remove.',
        'Give at least one of --older-than, --keep and --failed-only.',
      )
    const store = options.store
    const family = new RunFamily(store)
    const candidates = [...family.runs.values()]
      .slice(keep ?? 0)
      .filter((run) => isRemovable(run, before ?? Infinity, isFailedOnly))
      .map(({ id }) => id)
    const refused = refusedRuns(family, candidates)
    const ids = without(candidates, refused)
    const isDry = options.flag('dry-run')
    const done = isDry ? { removed: ids, kept: [] } : removeRuns(store, family, ids)
    const kept = [...refused, ...done.kept]
    if (options.json) printJson({ removed: done.removed, kept, dryRun: isDry })
    else {
      if (isDry) for (const id of done.removed) console.log(id)
      process.stderr.write(`${resultLines(done.removed.length, kept, isDry).join('\n')}\n`)
    }
    return 0
  },
} satisfies Verb

/** Killed runs count as failed: nobody got a result from them. */
const isRemovable = (run: RunSummary, before: number, isFailedOnly: boolean): boolean =>
  'startedAt' in run &&
  run.startedAt < before &&
  (!isFailedOnly || run.status === 'failed' || run.status === 'killed')

const without = (ids: readonly string[], refused: readonly RetainedRun[]): string[] => {
  const stay = new Set(refused.map(({ id }) => id))
  return ids.filter((id) => !stay.has(id))
}

/** Kept runs that are named; the others are counted, and `--json` has all of them. */
const NAMED_MAX = 10

function resultLines(removed: number, kept: readonly RetainedRun[], isDry: boolean): string[] {
  return [
    `${isDry ? 'would remove' : 'removed'} ${plural(removed, 'run')}`,
    ...kept.slice(0, NAMED_MAX).map((each) => `kept ${each.id}: ${reasonOf(each)}`),
    ...(kept.length > NAMED_MAX ? [`kept ${count(kept.length - NAMED_MAX)} more`] : []),
  ]
}

function reasonOf({ why, branches = [] }: RetainedRun): string {
  if (why === 'branches')
    return `${branches.join(', ')} ${branches.length === 1 ? 'continues' : 'continue'} it`
  if (why === 'pinned') return 'it is pinned'
  return why === 'recording' ? 'it is being recorded' : 'it is gone'
}
