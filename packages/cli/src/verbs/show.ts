import { summarizeStep } from '@retake/tape'
import type { RunView, Step, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { noSuchStep, wrongUsage } from '../errors.js'
import { RunStore } from '../run-store.js'
import { runLines } from '../run-lines.js'
import { statusOf } from '../run-summary.js'
import { stepJson, stepLines } from '../step-lines.js'
import { painter, widthOf } from '../terminal.js'
import { flag, text } from '../verb.js'
import type { Verb } from '../verb.js'
import { viewRun } from '../view-run.js'

export const show: Verb = {
  name: 'show',
  summary: 'Show the steps of a run, or one step in full',
  usage: '<run> [--step N] [options]',
  help: `Options:
  --step <N>      one step in full: messages, request and answer, result
  --dir <folder>  where the tapes are (default: .retake/runs)
  --json          everything as JSON

Examples:
  retake show last
  retake show last --step 3
  retake show last --json | jq '.steps[] | select(.kind == "model") | .usage'`,
  options: { step: { type: 'string' }, dir: { type: 'string' } },
  run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0)
      throw wrongUsage('show', 'Name one run to show.', 'For example: retake show last.')
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    const view = viewRun(tape)
    const label = text(values, 'step')
    const step = label === undefined ? undefined : findStep(view, label)
    if (flag(values, 'json'))
      console.log(JSON.stringify(step ? stepJson(step) : runJson(view, tape), undefined, 2))
    else {
      const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
      console.log((step ? stepLines(step, look) : runLines(view, tape, look)).join('\n'))
    }
    return Promise.resolve(0)
  },
}

function findStep(view: RunView, label: string): Step {
  const step = view.step(label)
  if (step === undefined) throw noSuchStep(view.id, label, view.recordedSteps.length)
  return step
}

function runJson(view: RunView, tape: Tape): unknown {
  const { id, name, startedAt, durationMs, exit, node, counts, totals, boundaryNotes } = view
  const status = statusOf(view, tape)
  const steps = view.steps.map(summarizeStep)
  return {
    id,
    path: tape.path,
    name,
    startedAt,
    durationMs,
    status,
    exit,
    node,
    counts,
    totals,
    steps,
    boundaryNotes,
  }
}
