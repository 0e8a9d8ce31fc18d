import { Interruption } from '@retake/runner/command-line'
import { type Verb, NODE_PROGRAM_OPTIONS } from '@retake/runner/command-line'
import { Timeline } from '@retake/engine/inspect'
import { movedHere } from '@retake/runner/agent'
import { codeToShow } from '@retake/runner/sources'
import { plural } from '@retake/tape/present'
import { startOf } from '@retake/runner/agent'
import { spawnProbe } from '@retake/runner/debug'
import { runStepPrompt } from '@retake/runner/debug'
import { viewRun } from '@retake/runner/runs'

const MEBIBYTE = 2 ** 20

export default {
  arguments: '<run>',
  description: `Replays the program offline and stops where the answer of a step reached it.
\`retake step\` is short for it. Steps are in the order of their answers. To go back, Retake continues
from a keyframe: a paused process that was created along the way, in the background.

Commands, one per line: next, back, lane, continue [expr], jump N, locals, stack, reverse-continue
<expr>, print <expr>, watch <expr>, unwatch <expr>, list, help, quit. On a terminal, Ctrl-C cancels
the current command, Ctrl-D quits, and an empty line repeats the last command. Expressions with
side effects are refused.`,
  options: {
    '--at <N>': 'start at step N (default: before the first)',
    '--keyframes <n>': 'maximum number of keyframes (default: 8)',
    '--memory <MB>': 'maximum memory of all processes together (default: 1024)',
    ...NODE_PROGRAM_OPTIONS,
    '--json': 'print one JSON object per command',
  },
  examples: [
    'retake debug step last',
    'retake debug step last --at 12',
    `echo 'reverse-continue total < 0' | retake debug step last --at 40`,
    String.raw`printf 'jump 3\nprint messages.length\n' | retake debug step last --json`,
  ],
  async run(options, [name = '']) {
    const keyframes = options.number('keyframes', { least: 0, most: 64 })
    const memory = options.number('memory', { least: 1, most: 2 ** 30 })
    const tape = options.openRun(name)
    // Fails early if the program cannot be started.
    using code = codeToShow(tape)
    startOf(tape, code?.root ?? movedHere(tape))
    const nodeArgs = options.texts('node-arg')
    const timeline = new Timeline({
      tape,
      steps: viewRun(tape).recordedSteps,
      spawn: () => spawnProbe(tape, { nodeArgs, code }),
      ...(keyframes !== undefined && { keyframes }),
      ...(memory !== undefined && { memoryBytes: memory * MEBIBYTE }),
    })
    const at = options.text('at')
    if (process.stdin.isTTY)
      process.stderr.write(
        `${tape.run.id}  ${plural(timeline.count, 'step')} · help lists the commands\n`,
      )
    using interruption = new Interruption()
    let exitCode: number
    try {
      exitCode = await runStepPrompt(timeline, {
        json: options.json,
        signal: interruption.signal,
        ...(at !== undefined && { first: `jump ${at}` }),
      })
    } finally {
      await timeline.close()
    }
    interruption.throwIfAny()
    return exitCode
  },
} satisfies Verb
