import { DIR_OPTION, type Options, type Verb } from '@retake/runner/command-line'
import {
  painter,
  printableLine,
  printJson,
  Progress,
  tableLines,
  TONE_STYLES,
  cutWidthOf,
} from '@retake/runner/terminal'
import { type LocalRunRow, type RunSummary, summarizeRuns } from '@retake/runner/runs'
import { RUN_STATUS_WORDS, cost, count, duration, localTime } from '@retake/tape/present'

/** Default number of rows; `--json` prints all. */
const SHOWN = 50
const STATUSES = Object.keys(RUN_STATUS_WORDS)

export default {
  arguments: '',
  description: `A run is done, failed (with an error or exit code), killed (a signal ended it, or no
end was recorded), stopped (a fork with --tail offline whose parent has no further answer),
recording, cut off (it ended, but the end of its tape is missing) or damaged (its tape is not what
was written). Checked are the lines of all records, the seal and the index, but not every recorded
body, which \`retake verify\` and \`retake show\` do: a run may be listed as done although a body on
its tape is damaged. Steps are those on the tape, without tool calls that \`retake show\` infers
from the conversation. The last column shows the name of the run, followed by its error, its last line of output, or its input. Rows come from \`index.jsonl\` beside the tapes,
which Retake rebuilds if it is missing or out of date.`,
  options: {
    '-n, --count <n>': `number of runs to show (default: ${SHOWN}; with --json, all)`,
    '--since <when>':
      'runs that started since then: 30m, 12h, 7d, 2w, or a date such as 2026-11-15',
    '--status <status>...': `runs with this status: ${STATUSES.join(', ')}; repeatable`,
    '--name <glob>': 'runs with this name; * matches any text, ? one character',
    '--tag <tag>...': 'runs with this tag; repeatable, a run must have all of them',
    '--search <text>':
      'runs with this text in id, name, input, error, last output line, tags or note',
    ...DIR_OPTION,
    '--json': 'print one run per line as JSON',
  },
  examples: [
    'retake list',
    'retake list --status failed --since 7d',
    "retake list --name 'refund*' --tag production --search 1182",
    `retake list --json | jq -r 'select(.costUsd > 0.1) | .id'`,
  ],
  run(options) {
    const limit = options.number('count', { least: 1 }) ?? (options.json ? Infinity : SHOWN)
    const isWanted = filterOf(options)
    const since = options.time('since') ?? -Infinity
    using progress = new Progress('reading tapes')
    const runs: RunSummary[] = []
    let isMore = false
    let read = 0
    for (const run of summarizeRuns(options.store)) {
      progress.say(`reading tape ${(read += 1)}`)
      // Runs are sorted newest first.
      if ('startedAt' in run && run.startedAt < since) break
      if (!isWanted(run)) continue
      isMore = runs.length >= limit
      if (isMore) break
      runs.push(run)
    }
    progress.stop()
    if (options.json) for (const run of runs) printJson(run)
    else if (runs.length > 0) print(runs)
    else
      process.stderr.write(
        read === 0
          ? 'No runs yet. Record one with: retake record <file>\n'
          : 'No run matches. Run `retake list` without filters.\n',
      )
    if (isMore && !options.json)
      process.stderr.write(
        `the newest ${limit === 1 ? 'run' : `${count(limit)} runs`}; -n shows more, filters find others\n`,
      )
    return 0
  },
} satisfies Verb

function filterOf(options: Options): (run: RunSummary) => boolean {
  const statuses = options.choices('status', STATUSES)
  const tags = options.texts('tag')
  const name = options.text('name')
  const text = options.text('search')?.toLowerCase()
  const pattern = name === undefined ? undefined : globPattern(name)
  return (run) => {
    if (statuses.length > 0 && !statuses.includes('error' in run ? 'damaged' : run.status))
      return false
    if ('error' in run)
      return (
        pattern === undefined && tags.length === 0 && (text === undefined || run.id.includes(text))
      )
    if (pattern?.test(run.name) === false) return false
    if (!tags.every((tag) => run.tags?.includes(tag))) return false
    if (text === undefined) return true
    const { input, failure, lastLine, note } = run
    const searched = [run.id, run.name, input, failure, lastLine, note, ...(run.tags ?? [])]
    return searched.some((each) => each?.toLowerCase().includes(text))
  }
}

function globPattern(glob: string): RegExp {
  const source = glob
    .replaceAll(/[\\^$.+()[\]{}|]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`, 's')
}

const HEADER = ['run', 'when', 'status', 'steps', 'took', 'cost', 'name']
/** Columns dropped on a narrow terminal, in this order. */
const SPARE = ['when', 'took', 'steps', 'cost'].map((name) => HEADER.indexOf(name))

/** Width for the name of a run and what distinguishes it. */
const NAME_MIN = 36

function print(runs: readonly RunSummary[]): void {
  const paint = painter(process.stdout)
  const rows = runs.map((run) => {
    if ('error' in run) return [run.id, '', paint('red', 'damaged'), '', '', '', run.error.code]
    const { id, startedAt, status, steps, durationMs, costUsd } = run
    return [
      id,
      localTime(startedAt),
      paint(TONE_STYLES[RUN_STATUS_WORDS[status].tone], status),
      String(steps),
      duration(durationMs),
      cost(costUsd),
      nameText(run),
    ]
  })
  console.log(tableLines([HEADER, ...rows], cutWidthOf(process.stdout), SPARE, NAME_MIN).join('\n'))
}

function nameText({ name, branch, imported, tags = [], ...row }: LocalRunRow): string {
  const { failure, lastLine, input } = row
  const word = branch?.kind ?? (imported && 'imported')
  const kind = word === undefined ? '' : ` (${word})`
  const words = tags.map((tag) => ` #${tag}`).join('')
  const about = failure ?? lastLine ?? input
  return printableLine(`${name}${kind}${about === undefined ? '' : ` · ${about}`}${words}`)
}
