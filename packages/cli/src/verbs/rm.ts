import {
  collectRuns,
  printRemoval,
  refusedRuns,
  type Removal,
  type RemovalRule,
  removeRuns,
  type RetainedRun,
  RunFamily,
  RunTrash,
} from '@retake/runner/removal'
import { statSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '@retake/tape'
import { bytesText, localDateTime, parseSize, plural, type RunStatus } from '@retake/tape/present'
import {
  DIR_OPTION,
  type Options,
  parseAge,
  usageError,
  type Verb,
} from '@retake/runner/command-line'
import { project } from '@retake/runner/config'
import { cliErrors } from '@retake/runner/errors'
import { RunStore } from '@retake/runner/runs'
import { removeUnusedSources } from '@retake/runner/sources'
import { linesOf, printJson } from '@retake/runner/terminal'

const OUTCOMES: readonly RunStatus[] = ['done', 'failed', 'killed', 'stopped', 'cut off']
const DEFAULT_TRASH = '30d'
const RULES = ['older-than', 'keep', 'max-size', 'outcome', 'expired'] as const

export default {
  arguments: '[run|folder...]',
  description: `Moves runs to the trash, with everything that belongs to them: captured state, tags,
files of a branch, approvals, forks of compare and findings of blame. Runs that have been in the
trash for more than 30 days are deleted.

With names, removes these runs, or none if one of them cannot be removed. A run with branches can
only be removed together with them, because a branch begins with the events of its parent.

With rules, removes the runs of a folder, or of several, that match all of them. Rules never remove
runs that are being recorded, that have the tag \`pin\` or \`hold\`, that are younger than
\`retention.floor\`, whose tape cannot be read, or that a branch continues, unless the branch is
removed, too.`,
  options: {
    '--branches': 'also remove the branches of the named runs',
    '--older-than <age>': 'remove runs older than this: 12h, 30d, 8w, or a date such as 2026-11-15',
    '--keep <n>': 'remove all but the newest n runs',
    '--max-size <size>': 'remove the oldest runs until the tapes fit into this size, such as 20GB',
    '--outcome <outcome>...': `remove runs with this outcome: ${OUTCOMES.join(', ')}; repeatable`,
    '--expired': 'remove runs by the rules of `retention` in the configuration',
    '--dry-run': 'only print what would be removed',
    '--purge': 'delete instead of moving to the trash; without <run>, also empty the trash',
    '--trash': 'only list the runs in the trash',
    '--restore <run>...': 'move a run and the runs that it continues out of the trash; repeatable',
    ...DIR_OPTION,
    '--json': 'print one result per folder as JSON',
  },
  examples: [
    'retake rm last',
    'retake rm --older-than 30d --dry-run',
    'retake rm --max-size 20GB --outcome done',
    'retake rm --restore 20261115-093012-kqzt',
    'retake rm srv/tenants/a srv/tenants/b --older-than 180d',
  ],
  run(options, given) {
    const isFolder = (name: string): boolean =>
      statSync(name, { throwIfNoEntry: false })?.isDirectory() === true
    const names = given.filter((name) => !isFolder(name))
    const folders = given.filter(isFolder).map((name) => new RunStore(name))
    const stores = folders.length === 0 ? [options.store] : folders
    const wanted = options.texts('restore')
    const ruleName = RULES.find((rule) => options.has(rule))
    const modes = linesOf(
      names.length > 0 && (folders.length > 0 ? '<run> and <folder>' : '<run>'),
      ruleName !== undefined && `--${ruleName}`,
      options.flag('trash') && '--trash',
      wanted.length > 0 && '--restore',
    )
    if (modes.length > 1 || (names.length > 0 && folders.length > 0))
      throw usageError(`${modes.join(' and ')} cannot be combined.`, 'Use one of them at a time.')
    if (modes.length === 0 && !options.flag('purge'))
      throw usageError(
        'No run and no rule says what to remove.',
        'Name a run, or set at least one of --older-than, --keep, --max-size, --outcome and --expired.',
      )
    if (options.flag('trash')) return list(stores, options)
    if (names.length > 0) return removeNamed(names, options)
    if (options.flag('branches'))
      throw usageError('--branches needs <run>.', 'Rules decide about each branch, too.')
    const rule = ruleOf(options)
    for (const store of stores) {
      const trash = new RunTrash(store)
      trash.settle()
      if (wanted.length > 0) {
        const restored = trash.restore(wanted)
        const text = `restored ${plural(restored.length, 'run')}: ${restored.join(', ')}`
        if (options.json) printJson({ folder: store.folder, restored })
        else process.stderr.write(`${text}\n`)
        continue
      }
      const isDry = options.flag('dry-run')
      const removal =
        rule === undefined
          ? { removed: [], kept: [], bytes: 0 }
          : collectRuns(store, rule, { isDry, ...(!options.flag('purge') && { trash }) })
      report(store, trash, removal, options, options.flag('purge'))
    }
    return 0
  },
} satisfies Verb

/** Removes all of these runs, or none. They may be in several folders. */
function removeNamed(names: readonly string[], options: Options): number {
  const { store } = options
  const files = names.map((name) => path.resolve(store.find(name)))
  const folders = [...new Set(files.map((file) => path.dirname(file)))]
  const plans = folders.map((folder) => {
    const own = new RunStore(folder)
    const family = new RunFamily(own)
    const named = files.filter((file) => path.dirname(file) === folder)
    const ids = named.map((file) => path.basename(file, '.tape'))
    const all = options.flag('branches') ? ids.flatMap((id) => family.descendants(id)) : ids
    const [refused] = refusedRuns(family, all)
    if (refused !== undefined) throw refusal(refused, folder)
    return { own, family, ids: [...new Set(all)] }
  })
  for (const { own, family, ids } of plans) {
    const trash = new RunTrash(own)
    trash.settle()
    const { removed, kept } = options.flag('dry-run')
      ? { removed: ids, kept: [] }
      : removeRuns(own, family, ids, options.flag('purge') ? undefined : trash)
    const [retained] = kept
    if (retained !== undefined) throw refusal(retained, own.folder)
    report(own, trash, { removed, kept }, options)
  }
  return 0
}

function refusal({ id, why, branches = [] }: RetainedRun, folder: string): Error {
  if (why === 'recording') return cliErrors.RUN_STILL_RECORDING(id)
  if (why === 'on hold') return cliErrors.RUN_RETAINED(id)
  if (why === 'pinned') return cliErrors.RUN_PINNED(id)
  if (why === 'gone') return cliErrors.UNKNOWN_RUN(id, folder)
  return cliErrors.RUN_HAS_BRANCHES(id, branches)
}

function ruleOf(options: Options): RemovalRule | undefined {
  const outcomes = options.choices('outcome', OUTCOMES)
  const size = options.text('max-size')
  if (size !== undefined && parseSize(size) === undefined)
    throw usageError(`"${size}" is not a size.`, 'For example: 500MB or 20GB.')
  const { olderThan, keep, maxSize } = options.flag('expired') ? project().retention : {}
  const age = parseAge(olderThan)
  const rule: RemovalRule = {
    before: options.time('older-than') ?? (age === undefined ? undefined : Date.now() - age),
    keep: options.number('keep') ?? keep,
    maxBytes: parseSize(size ?? maxSize),
    outcomes: outcomes.length > 0 ? new Set(outcomes) : undefined,
  }
  if (Object.values(rule).some((value) => value !== undefined)) return rule
  if (!options.flag('expired')) return undefined
  throw usageError(
    'The configuration has no rules for --expired.',
    'Set `olderThan`, `keep` or `maxSize` of `retention`.',
  )
}

/** Prints what was removed, and empties the trash of old runs. */
function report(
  store: RunStore,
  trash: RunTrash,
  removal: Removal,
  options: Options,
  isEmptied = false,
): void {
  const isDry = options.flag('dry-run')
  const isFinal = options.flag('purge')
  const days = parseAge(project().retention.trash ?? DEFAULT_TRASH) ?? 0
  const emptied = trash.empty(isEmptied ? Infinity : Date.now() - days, isDry)
  // If a tape cannot be read, nobody knows what it needs.
  const sourceBytes = attempt(() => removeUnusedSources(store.folder, isDry), 0)
  const json = { folder: store.folder, ...removal, emptied, sourceBytes, dryRun: isDry }
  printRemoval(options, json, removal, [
    emptied.length > 0 &&
      `${isDry ? 'would empty' : 'emptied'} the trash of ${plural(emptied.length, 'run')}`,
    sourceBytes > 0 &&
      `${isDry ? 'would remove' : 'removed'} ${bytesText(sourceBytes)} of code that no run names`,
    removal.removed.length > 0 &&
      !isFinal &&
      !isDry &&
      'They are in the trash. `retake rm --restore <run>` restores a run.',
  ])
}

function list(stores: readonly RunStore[], { json }: Options): number {
  const trashed = stores.flatMap((store) =>
    new RunTrash(store).runs().map((run) => ({ ...run, dir: store.folder })),
  )
  for (const run of trashed)
    if (json) printJson(run)
    else console.log(`${run.id}  removed ${localDateTime(run.removedAt)}`)
  if (trashed.length === 0 && !json) process.stderr.write('The trash is empty.\n')
  return 0
}
