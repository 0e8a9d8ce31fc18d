import { Timeline } from '@retake/engine/inspect'
import { openTape } from '@retake/tape/node'
import { plural } from '@retake/tape/present'
import { warnOfChangedSources } from '../agent/changed-sources.js'
import { Interrupted } from '../agent/agent-process.js'
import { wrongUsage } from '../errors/command-line.js'
import { startOf } from '../agent/replay-command.js'
import { RunStore } from '../runs/run-store.js'
import { spawnProbe } from '../debug/probe-agent.js'
import { StepPrompt } from '../debug/step-prompt.js'
import { TRUST_OPTION } from '../agent/trust.js'
import { flag, type OptionValues, text, texts, type Verb } from '../command-line/verb.js'
import { viewRun } from '../runs/view-run.js'

const MEBIBYTE = 2 ** 20
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export const step: Verb = {
  usage: '<run> [--at N] [options]',
  help: `Replays the recorded program, offline, and stops where the answer of a step
reached it. Steps are in the order of their answers. Going back is replaying
from processes parked along the run; they are set up in the background.

Commands, one a line: next, back, lane, continue [expr], jump N, locals, stack,
reverse-continue <expr>, print <expr>, watch <expr>, unwatch <expr>, list, help,
quit. On a terminal Ctrl-C gives up what is under way, Ctrl-D ends, and an empty
line repeats the last command. Expressions cannot change anything.

Options:
  --at <N>           begin at step N (default: before the first)
  --keyframes <n>    how many processes may be parked (default: 8)
  --memory <MB>      memory of all processes together (default: 1024)
  --node-arg=<flag>  a flag for Node itself; may be repeated
  --trust            also start the program of a run from elsewhere
  --dir <folder>     where the tapes are (default: .retake/runs)
  --json             one JSON object a command

Examples:
  retake step last
  retake step last --at 12
  echo 'reverse-continue total < 0' | retake step last --at 40
  printf 'jump 3\\nprint messages.length\\n' | retake step last --json`,
  options: {
    ...TRUST_OPTION,
    at: { type: 'string' },
    keyframes: { type: 'string' },
    memory: { type: 'string' },
    dir: { type: 'string' },
    'node-arg': { type: 'string', multiple: true },
  },
  async run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0)
      throw wrongUsage('step', 'Name one run to step through.', 'For example: retake step last.')
    const keyframes = numberOf(values, 'keyframes', { least: 0, most: 64 })
    const memory = numberOf(values, 'memory', { least: 1, most: 2 ** 30 })
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    // Says so at once when the program cannot be started.
    startOf(tape)
    warnOfChangedSources(tape)
    const nodeArgs = texts(values, 'node-arg')
    const timeline = new Timeline({
      tape,
      steps: viewRun(tape).recordedSteps,
      spawn: () => spawnProbe(tape, { nodeArgs }),
      ...(keyframes !== undefined && { keyframes }),
      ...(memory !== undefined && { memoryBytes: memory * MEBIBYTE }),
    })
    const at = text(values, 'at')
    if (process.stdin.isTTY)
      process.stderr.write(
        `${tape.run.id}  ${plural(timeline.count, 'step')} · help lists the commands\n`,
      )
    return untilSignal(async (signal) => {
      try {
        const first = at === undefined ? {} : { first: `jump ${at}` }
        return await new StepPrompt(timeline, {
          json: flag(values, 'json'),
          signal,
          ...first,
        }).run()
      } finally {
        await timeline.close()
      }
    })
  },
}

/** Runs something that a signal to this process ends. */
async function untilSignal(run: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const ending = new AbortController()
  let came: NodeJS.Signals | undefined
  const listener = (signal: NodeJS.Signals): void => {
    came = signal
    ending.abort()
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  try {
    const code = await run(ending.signal)
    if (came) throw new Interrupted(came)
    return code
  } finally {
    for (const signal of SIGNALS) process.off(signal, listener)
  }
}

function numberOf(
  values: OptionValues,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number | undefined {
  const given = text(values, name)
  if (given === undefined) return undefined
  const number = Number(given)
  if (given.trim() !== '' && Number.isInteger(number) && number >= least && number <= most)
    return number
  throw wrongUsage(
    'step',
    `--${name} is "${given}".`,
    `It must be a whole number from ${least} to ${most}.`,
  )
}
