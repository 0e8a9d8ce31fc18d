import { DIR_OPTION, type Verb } from '../command-line/verb.js'
import {
  type Paint,
  painter,
  printJson,
  Progress,
  table,
  TONE_STYLES,
  widthOf,
} from '../terminal/terminal.js'
import { type RunSummary, summarizeRun } from '../runs/run-summary.js'
import { RUN_STATUS_WORDS, cost, duration, localTime, type RunStatus } from '@retake/tape/present'

export default {
  arguments: '',
  description: `Status: done, failed (exit code or error), killed, recording; cut off or damaged if the
tape is incomplete or was changed.`,
  options: { ...DIR_OPTION, '--json': 'print one run per line as JSON' },
  examples: ['retake list', `retake list --json | jq -r 'select(.status == "failed") | .id'`],
  run(options) {
    const store = options.store
    const progress = new Progress('reading tapes')
    const runs = store.ids().map((id, index, all) => {
      progress.say(`reading tape ${index + 1} of ${all.length}`)
      return summarizeRun(id, store.pathOf(id))
    })
    progress.stop()
    if (options.json) for (const run of runs) printJson(run)
    else if (runs.length === 0)
      process.stderr.write('No runs yet. Record one with: retake record <file>\n')
    else print(runs)
    return 0
  },
} satisfies Verb

const HEADER = ['run', 'when', 'status', 'steps', 'took', 'cost', 'name']
/** Columns that a narrow terminal leaves out, the first of them first. */
const SPARE = ['when', 'took', 'steps', 'cost'].map((name) => HEADER.indexOf(name))

function print(runs: readonly RunSummary[]): void {
  const paint = painter(process.stdout)
  const rows = runs.map((run) => {
    if ('error' in run) return [run.id, '', paint('red', 'damaged'), '', '', '', run.error.code]
    const { id, startedAt, status, cutOff, steps, durationMs, costUsd, name, branch } = run
    const isShort = cutOff === true && (status === 'done' || status === 'failed')
    return [
      id,
      localTime(startedAt),
      isShort ? paint('red', 'cut off') : painted(status, paint),
      String(steps),
      duration(durationMs),
      cost(costUsd),
      branch === undefined ? name : `${name} (${branch.kind})`,
    ]
  })
  console.log(table([HEADER, ...rows], widthOf(process.stdout), SPARE).join('\n'))
}

const painted = (status: RunStatus, paint: Paint): string =>
  paint(TONE_STYLES[RUN_STATUS_WORDS[status].tone], status)
