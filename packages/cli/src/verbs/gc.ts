import { RunTrash } from '@retake/runner/removal'
import { collectRuns, type RemovalRule, printRemoval } from '@retake/runner/removal'
import { localDateTime, plural, type RunStatus, parseSize } from '@retake/tape/present'
import { parseAge } from '@retake/runner/command-line'
import { DIR_OPTION, type Options, usageError, type Verb } from '@retake/runner/command-line'
import { project } from '@retake/runner/config'

import { RunStore } from '@retake/runner/runs'

import { printJson } from '@retake/runner/terminal'

const OUTCOMES: readonly RunStatus[] = ['done', 'failed', 'killed', 'stopped', 'cut off']
const DEFAULT_TRASH = '30d'

export default {
  arguments: '[folder...]',
  description: `Moves runs and their files to the trash, and deletes runs that have been in the
trash for more than 30 days. Removes only runs that match all given options. Without options, the
rules of \`retention\` in the configuration apply.

Never removes runs that are being recorded, that have the tag \`pin\` or \`hold\`, that are younger
than \`retention.floor\`, whose tape cannot be read, or that a branch continues, unless the branch
is removed, too. Pass several folders if a server records to more than one.`,
  options: {
    '--older-than <age>': 'remove runs older than this: 12h, 30d, 8w, or a date such as 2026-11-15',
    '--keep <n>': 'remove all but the newest n runs',
    '--max-size <size>': 'remove the oldest runs until the tapes fit into this size, such as 20GB',
    '--outcome <outcome>...': `remove runs with this outcome: ${OUTCOMES.join(', ')}; repeatable`,
    '--dry-run': 'only print what would be removed',
    '--purge': 'delete immediately instead of moving to the trash, and empty the trash',
    '--trash': 'only list the runs in the trash',
    '--restore <run>...': 'move a run and the runs that it continues out of the trash; repeatable',
    ...DIR_OPTION,
    '--json': 'print one result per folder as JSON',
  },
  examples: [
    'retake gc --older-than 30d --dry-run',
    'retake gc --max-size 20GB --outcome done',
    'retake gc --restore 20261115-093012-kqzt',
    'retake gc srv/tenants/a srv/tenants/b --older-than 180d',
  ],
  run(options, folders) {
    const stores =
      folders.length === 0 ? [options.store] : folders.map((folder) => new RunStore(folder))
    if (options.flag('trash')) return list(stores, options)
    const wanted = options.texts('restore')
    const rule = ruleOf(options)
    if (rule === undefined && wanted.length === 0 && !options.flag('purge'))
      throw usageError(
        'No rule says which runs to remove.',
        'Set at least one of --older-than, --keep, --max-size and --outcome, or `retention` in the configuration.',
      )
    for (const store of stores) {
      const trash = new RunTrash(store)
      trash.settle()
      if (wanted.length > 0) restore(trash, store, wanted, options)
      else collect(store, trash, rule, options)
    }
    return 0
  },
} satisfies Verb

function ruleOf(options: Options): RemovalRule | undefined {
  const { olderThan, keep, maxSize } = project().retention
  const outcomes = options.choices('outcome', OUTCOMES)
  const size = options.text('max-size')
  if (size !== undefined && parseSize(size) === undefined)
    throw usageError(`"${size}" is not a size.`, 'For example: 500MB or 20GB.')
  const given: RemovalRule = {
    before: options.time('older-than'),
    keep: options.number('keep'),
    maxBytes: parseSize(size),
    outcomes: outcomes.length > 0 ? new Set(outcomes) : undefined,
  }
  if (Object.values(given).some((value) => value !== undefined)) return given
  const age = parseAge(olderThan)
  if (age === undefined && keep === undefined && maxSize === undefined) return undefined
  return {
    before: age === undefined ? undefined : Date.now() - age,
    keep,
    maxBytes: parseSize(maxSize),
  }
}

function collect(
  store: RunStore,
  trash: RunTrash,
  rule: RemovalRule | undefined,
  options: Options,
): void {
  const isDry = options.flag('dry-run')
  const isFinal = options.flag('purge')
  const removal =
    rule === undefined
      ? { removed: [], kept: [], bytes: 0 }
      : collectRuns(store, rule, { isDry, ...(!isFinal && { trash }) })
  const days = parseAge(project().retention.trash ?? DEFAULT_TRASH) ?? 0
  const emptied = trash.empty(isFinal ? Infinity : Date.now() - days, isDry)
  const { removed, kept, bytes } = removal
  const json = { folder: store.folder, removed, kept, bytes, emptied, dryRun: isDry }
  printRemoval(options, json, removal, [
    emptied.length > 0 &&
      `${isDry ? 'would empty' : 'emptied'} the trash of ${plural(emptied.length, 'run')}`,
    removed.length > 0 &&
      !isFinal &&
      !isDry &&
      'They are in the trash. `retake gc --restore <run>` restores a run.',
  ])
}

function restore(
  trash: RunTrash,
  store: RunStore,
  wanted: readonly string[],
  options: Options,
): void {
  const restored = trash.restore(wanted)
  if (options.json) printJson({ folder: store.folder, restored })
  else process.stderr.write(`restored ${plural(restored.length, 'run')}: ${restored.join(', ')}\n`)
}

function list(stores: readonly RunStore[], { json }: Options): number {
  const found = stores.flatMap((store) =>
    new RunTrash(store).runs().map((run) => ({ ...run, dir: store.folder })),
  )
  for (const run of found)
    if (json) printJson(run)
    else console.log(`${run.id}  removed ${localDateTime(run.removedAt)}`)
  if (found.length === 0 && !json) process.stderr.write('The trash is empty.\n')
  return 0
}
