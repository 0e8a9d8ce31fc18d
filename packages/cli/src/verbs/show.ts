import { originOf, stateDifference, summarizeStep } from '@retake/tape'
import type { CapturedState, RunView, StateChanges, Step, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { branchFacts } from '../branch-facts.js'
import { stepBranchLines } from '../branch-lines.js'
import { checkTape } from '../check-tape.js'
import { wrongUsage } from '../errors/command-line.js'
import { noState } from '../errors/inspect.js'
import { findStep } from '../find-step.js'
import { RunStore } from '../run-store.js'
import { runLines } from '../run-lines.js'
import { statusOf } from '../run-summary.js'
import { readStates } from '../state-file.js'
import { stateLines } from '../state-lines.js'
import { stepJson, stepLines } from '../step-lines.js'
import { painter, widthOf } from '../terminal.js'
import { flag, text } from '../verb.js'
import type { Verb } from '../verb.js'
import { viewRun } from '../view-run.js'

export const show: Verb = {
  usage: '<run> [--step N] [options]',
  help: `Options:
  --step <N>      one step in full: messages, request and answer, result
  --state         with --step: also the program's state then, and what changed
                  since the step before; \`retake snapshot\` captures it
  --dir <folder>  where the tapes are (default: .retake/runs)
  --json          everything as JSON

Examples:
  retake show last
  retake show last --step 3
  retake show last --step 3 --state
  retake show last --json | jq '.steps[] | select(.kind == "model") | .usage'`,
  options: { step: { type: 'string' }, state: { type: 'boolean' }, dir: { type: 'string' } },
  run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0)
      throw wrongUsage('show', 'Name one run to show.', 'For example: retake show last.')
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    const view = viewRun(tape)
    const label = text(values, 'step')
    const step = label === undefined ? undefined : findStep(view, label)
    if (flag(values, 'state') && step === undefined)
      throw wrongUsage('show', '--state needs --step.', 'State is captured at steps.')
    const found = step && flag(values, 'state') ? stateAt(tape, step) : undefined
    if (flag(values, 'json')) {
      const json = step
        ? { ...(stepJson(step) as object), ...originJson(tape, step), ...found }
        : runJson(view, tape)
      console.log(JSON.stringify(json, undefined, 2))
    } else {
      const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
      const lines = step
        ? stepLines(step, look, stepBranchLines(tape, step, look.width))
        : runLines(view, tape, look)
      const state = found ? stateLines(found.state, found.since, look) : []
      console.log([...lines, ...state].join('\n'))
    }
    return Promise.resolve(0)
  },
}

function originJson(tape: Tape, step: Step): object {
  const origin = originOf(tape, step)
  return origin === undefined ? {} : { origin }
}

/** The captured state of a step, and what changed since the step before that was captured. */
function stateAt(tape: Tape, step: Step): { state: CapturedState; since?: StateChanges } {
  const states = readStates(tape)
  if (states === undefined) throw noState(tape.run.id, undefined)
  const index = states.findIndex((state) => state.step === step.label)
  const state = states[index]
  if (state === undefined) throw noState(tape.run.id, step.label)
  const before = states[index - 1]
  if (before === undefined) return { state }
  return { state, since: { step: before.step, changes: stateDifference(before, state) } }
}

function runJson(view: RunView, tape: Tape): unknown {
  const { id, name, startedAt, durationMs, exit, node, counts, totals, notCaptured } = view
  const status = statusOf(view, tape)
  const { integrity, digest } = checkTape(tape)
  const steps = view.steps.map((step) => ({ ...summarizeStep(step), ...originJson(tape, step) }))
  return {
    id,
    path: tape.path,
    name,
    ...(tape.run.parent && { parent: tape.run.parent }),
    ...(tape.details.branch && { branch: tape.details.branch, facts: branchFacts(tape, view) }),
    startedAt,
    durationMs,
    status,
    integrity,
    digest,
    exit,
    node,
    counts,
    totals,
    steps,
    notCaptured,
  }
}
