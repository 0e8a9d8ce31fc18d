import { RUN_STATUS_WORDS, cost, duration, localTime, type RunStatus } from '@retake/tape/present'
import { RunStore } from '../runs/run-store.js'
import { wrongUsage } from '../errors/command-line.js'
import {
  type Paint,
  painter,
  Progress,
  table,
  widthOf,
  TONE_STYLES,
  printJson,
} from '../terminal/terminal.js'
import { type RunSummary, summarizeRun } from '../runs/run-summary.js'
import { flag, text, type Verb } from '../command-line/verb.js'

export const list: Verb = {
  usage: '[options]',
  help: `Options:
  --dir <folder>  where the tapes are (default: .retake/runs)
  --json          one run a line

Status: done, failed (exit code or error), killed, recording; cut off or damaged
when the tape is not what was recorded.

Examples:
  retake list
  retake list --json | jq -r 'select(.status == "failed") | .id'`,
  options: { dir: { type: 'string' } },
  run(values, rest) {
    if (rest.length > 0)
      throw wrongUsage('list', `"${rest[0]}" is one too many.`, 'The command takes no arguments.')
    const store = new RunStore(text(values, 'dir'))
    const progress = new Progress('reading tapes')
    const runs = store.ids().map((id, index, all) => {
      progress.say(`reading tape ${index + 1} of ${all.length}`)
      return summarizeRun(id, store.pathOf(id))
    })
    progress.stop()
    if (flag(values, 'json')) for (const run of runs) printJson(run)
    else if (runs.length === 0)
      process.stderr.write('No runs yet. Record one with: retake record <file>\n')
    else print(runs)
    return Promise.resolve(0)
  },
}

const HEADER = ['run', 'when', 'status', 'steps', 'took', 'cost', 'name']
/** What a narrow terminal leaves out first. */
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
