import { statSync } from 'node:fs'
import { openTape } from '@retake/tape/node'
import { wrongUsage } from '../errors/command-line.js'
import { fromHere, printJson } from '../terminal/terminal.js'
import { checkEnd, explainingDivergence } from '../debug/look-at-step.js'
import { RunStore } from '../runs/run-store.js'
import { stepState, writeStates } from '../debug/state-file.js'
import { TRUST_OPTION } from '../agent/trust.js'
import { flag, text, texts, type Verb } from '../command-line/verb.js'
import { momentOf, viewRun } from '../runs/view-run.js'
import { withProbe } from '../debug/probe-agent.js'
import type { Probe, Stop } from '@retake/engine/inspect'
import type { CapturedState, RunView, Step } from '@retake/tape'
import { plural } from '@retake/tape/present'

export const snapshot: Verb = {
  usage: '<run> [--every k]',
  help: `Runs the recorded program again, offline, and writes down at every step which
line of your code ran when the answer had come, the stack and the variables.
The file stands beside the tape, with .state after its name; recording costs
nothing for it. \`retake show <run> --step N --state\` prints a state and what
changed since the step before.

Options:
  --every <k>        only steps k, 2k, 3k …, and the last one
  --node-arg=<flag>  a flag for Node itself; may be repeated
  --trust            also start the program of a run from elsewhere
  --dir <folder>     where the tapes are (default: .retake/runs)
  --json             where the states are, and how many, as JSON

Examples:
  retake snapshot last
  retake snapshot last --every 10`,
  options: {
    ...TRUST_OPTION,
    every: { type: 'string' },
    dir: { type: 'string' },
    'node-arg': { type: 'string', multiple: true },
  },
  async run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0) {
      const why = 'For example: retake snapshot last.'
      throw wrongUsage('snapshot', 'Name one run to capture.', why)
    }
    const every = Number(text(values, 'every') ?? '1')
    if (!Number.isInteger(every) || every < 1) {
      const why = '--every 10 captures every tenth step.'
      throw wrongUsage('snapshot', `"${text(values, 'every')}" is not a number of steps.`, why)
    }
    const json = flag(values, 'json')
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    return withProbe(tape, { nodeArgs: texts(values, 'node-arg') }, (probe) =>
      explainingDivergence(tape, json, async () => {
        const view = viewRun(tape)
        const states = await captureStates(probe, view, every)
        const file = writeStates(tape, states)
        const bytes = statSync(file).size
        const count = states.length
        if (json) printJson({ run: tape.run.id, file, states: count, bytes })
        else {
          const of = plural(view.recordedSteps.length, 'step')
          console.log(`${plural(count, 'state')} of ${of} in ${fromHere(file)}`)
        }
        return 0
      }),
    )
  },
}

/**
 * The state at every k-th step, in one replay. Steps after whose answer no code of
 * the user's ran have none. Afterwards the replay has run to its end.
 */
async function captureStates(probe: Probe, view: RunView, every: number): Promise<CapturedState[]> {
  const wanted = view.recordedSteps
    .filter(({ number }) => number % every === 0 || number === view.recordedSteps.length)
    .toSorted((a, b) => momentOf(a) - momentOf(b))
  const states: (CapturedState & { readonly number: number })[] = []
  let last: Stop | undefined
  for (const step of wanted) {
    const stop = await stopAt(probe, step, last)
    if (stop === undefined) break
    states.push({ number: step.number, ...stepState(step.label, momentOf(step), stop) })
    last = stop
  }
  if (probe.place.kind !== 'ended') await probe.resume()
  if (probe.place.kind === 'ended') checkEnd(probe.place)
  return states
    .toSorted((a, b) => a.number - b.number)
    .map(({ number: _number, ...state }) => state)
}

async function stopAt(probe: Probe, step: Step, last: Stop | undefined): Promise<Stop | undefined> {
  const moment = momentOf(step)
  // The first code after an earlier answer ran only after this one had come too.
  if (last && last.position > moment) return { ...last, isDirect: last.position === moment + 1 }
  const held = await probe.runTo(moment, { keepDebugger: true })
  if (held.kind === 'ended') return undefined
  const stop = await probe.stopAtUserCode()
  return stop.kind === 'stop' ? stop : undefined
}
