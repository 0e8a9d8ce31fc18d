import { type Verb, NODE_PROGRAM_OPTIONS } from '../command-line/verb.js'
import { statSync } from 'node:fs'
import { fromHere, printJson } from '../terminal/terminal.js'
import { checkEnd, explainingDivergence, withProbe } from '../debug/probe-agent.js'
import { capturedState, writeStates } from '../debug/state-file.js'
import { momentOf, viewRun } from '../runs/view-run.js'
import type { Probe, Stop } from '@retake/engine/inspect'
import type { CapturedState, RunView, Step } from '@retake/tape'
import { plural } from '@retake/tape/present'

export default {
  arguments: '<run>',
  description: `Replays the program, offline, and writes down at every step the line of your code that
ran after the answer, the stack and the variables. The file is beside the tape, with .state after
its name; recording costs nothing extra. \`retake show <run> --step N --state\` prints a state and
what changed since the step before.`,
  options: {
    '--every <k>': 'capture only steps k, 2k, 3k …, and the last one',
    ...NODE_PROGRAM_OPTIONS,
    '--json': 'print the file and the number of states as JSON',
  },
  examples: ['retake snapshot last', 'retake snapshot last --every 10'],
  async run(options, [name = '']) {
    const every = options.number('every', { least: 1 }) ?? 1
    const json = options.json
    const tape = options.openRun(name)
    return withProbe(tape, { nodeArgs: options.texts('node-arg') }, (probe) =>
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
} satisfies Verb

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
    const isUsers = ({ isUser }: { readonly isUser: boolean }): boolean => isUser
    const state = capturedState(stop, {
      step: step.label,
      seq: momentOf(step),
      frames: stop.frames.filter(isUsers),
      asyncFrames: stop.asyncFrames.filter(isUsers),
    })
    states.push({ number: step.number, ...state })
    last = stop
  }
  if (probe.position.kind !== 'ended') await probe.resume()
  if (probe.position.kind === 'ended') checkEnd(probe.position)
  return states
    .toSorted((a, b) => a.number - b.number)
    .map(({ number: _number, ...state }) => state)
}

async function stopAt(probe: Probe, step: Step, last: Stop | undefined): Promise<Stop | undefined> {
  const moment = momentOf(step)
  // The first code after an earlier answer ran only after this one had come too.
  if (last && last.position > moment) return { ...last, isDirect: last.position === moment + 1 }
  const paused = await probe.runTo(moment, { staysAttached: true })
  if (paused.kind === 'ended') return undefined
  const stop = await probe.stopAtUserCode()
  return stop.kind === 'stop' ? stop : undefined
}
