import { collectRuns, printRemoval } from '@retake/runner/removal'
import { DIR_OPTION, usageError, type Verb } from '@retake/runner/command-line'

export default {
  arguments: '',
  description: `Permanently deletes old runs and their files. \`retake gc\` does the same with a
trash and more options. Removes only runs that match all given options. Never removes runs that are
being recorded, that have the tag \`pin\` or \`hold\`, that are younger than \`retention.floor\` in
the configuration, whose tape cannot be read, or that a branch continues, unless the branch is
removed, too.`,
  options: {
    '--older-than <age>': 'remove runs older than this: 12h, 30d, 8w, or a date such as 2026-11-15',
    '--keep <n>': 'remove all but the newest n runs',
    '--failed-only': 'remove only runs that failed, were killed or stopped',
    '--dry-run': 'only print what would be removed',
    ...DIR_OPTION,
    '--json': 'print the removed and the kept runs as JSON',
  },
  examples: [
    'retake prune --older-than 30d --dry-run',
    'retake prune --older-than 30d --keep 1000',
    'retake prune --failed-only --older-than 7d',
  ],
  run(options) {
    const before = options.time('older-than')
    const keep = options.number('keep')
    // Without a result, a run counts as failed.
    const outcomes = options.flag('failed-only')
      ? new Set(['failed', 'killed', 'stopped'] as const)
      : undefined
    if (before === undefined && keep === undefined && outcomes === undefined)
      throw usageError(
        'No option says which runs to remove.',
        'Set at least one of --older-than, --keep and --failed-only.',
      )
    const dryRun = options.flag('dry-run')
    const removal = collectRuns(options.store, { before, keep, outcomes }, { isDry: dryRun })
    const { removed, kept } = removal
    printRemoval(options, { removed, kept, dryRun }, removal)
    return 0
  },
} satisfies Verb
