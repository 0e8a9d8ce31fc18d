import {
  DIR_OPTION,
  flag,
  number,
  openRun,
  type OptionValues,
  PORT,
  text,
  texts,
  TRUST_OPTION,
  usageError,
  type Verb,
} from '../command-line/verb.js'
import { lookOf, printJson } from '../terminal/terminal.js'
import { changedFileLines, changedFiles } from '../agent/changed-files.js'
import { FOUND, signalExitCode } from '../command-line/exit-codes.js'
import { ownPreloadLines } from '../agent/preloads.js'
import { replayAgent } from '../agent/replay-agent.js'
import { replayCommandRun } from '../agent/replay-recorded-command.js'
import { replayReceipt } from '../agent/replay-receipt.js'
import { replayToStep } from '../debug/replay-to-step.js'

export default {
  arguments: '<run>',
  description: `Runs the real code again, with the recorded arguments in the recorded folder. Nothing
leaves the process: the tape answers for models, tools, files, clock and random numbers. Stops
with exit code 3 at the first difference.

A command recorded with \`record -- <command>\` is run again, too: the tape plays its providers;
requests, stdout and exit code are compared.

With --step, runs only until the answer of step N reached the program, and shows the line of
your code that ran next, the call stack and the variables.`,
  options: {
    '--step <N>': "stop at this step and show the program's state",
    '--inspect [port]':
      'with --step: pause the program at that line, for Chrome DevTools or VS Code to attach (default port: 9229)',
    '--observe': 'report all differences instead of stopping at the first',
    '--strict-files':
      'exit with 3 if a project file that the run read has changed (default: a warning; the recorded content is served)',
    '--pace': 'replay with the recorded pauses (default: full speed)',
    '--node-arg <flag>...':
      'flag for Node itself, as --node-arg=--flag; modules that it preloads are not part of the run, they really run; repeatable',
    ...TRUST_OPTION,
    ...DIR_OPTION,
    '--json': "print the receipt as JSON on stdout, and the agent's output on stderr",
  },
  examples: [
    'retake replay last',
    'retake replay last --step 3',
    'retake replay last --step 3 --inspect',
    'retake replay 20261115-0930 --observe',
    'retake replay last --json 2>/dev/null | jq .identical',
  ],
  async run(values, [name = '']) {
    const json = flag(values, 'json')
    const step = text(values, 'step')
    const inspect = text(values, 'inspect')
    // Chrome looks for processes at 9229 by itself.
    const port = inspect === '' ? 9229 : number(values, 'inspect', PORT)
    checkOptions(values, step, inspect)
    const tape = openRun(values, name)
    if (step !== undefined)
      return replayToStep(tape, { step, port, json, nodeArgs: texts(values, 'node-arg') })
    if (tape.details.command !== undefined) return replayCommandRun(tape, values)
    const replayed = await replayAgent(tape, {
      observe: flag(values, 'observe'),
      pace: flag(values, 'pace'),
      nodeArgs: texts(values, 'node-arg'),
      ...(json && { stdio: ['ignore', process.stderr, process.stderr] as const }),
    })
    const look = lookOf(process.stderr)
    const identical = replayed.divergences.length === 0
    const changed = changedFiles(tape)
    if (json) {
      const { id } = tape.run
      const receipt = {
        run: id,
        digest: tape.digest,
        identical,
        ...replayed,
        changedFiles: changed,
      }
      printJson(receipt, 2)
    } else {
      const lines = [
        ...replayReceipt(tape, replayed, look),
        ...changedFileLines(changed),
        ...ownPreloadLines(),
      ]
      process.stderr.write(`${lines.join('\n')}\n`)
    }
    if (!identical || (changed.length > 0 && flag(values, 'strict-files'))) return FOUND
    if (replayed.signal) return signalExitCode(replayed.signal)
    return replayed.cutOff ? 0 : replayed.exitCode
  },
} satisfies Verb

function checkOptions(
  values: OptionValues,
  step: string | undefined,
  inspect: string | undefined,
): void {
  if (inspect !== undefined && step === undefined) {
    const why = 'It pauses the program at a step, for example --step 3 --inspect.'
    throw usageError('--inspect needs --step.', why)
  }
  if (step !== undefined && (flag(values, 'observe') || flag(values, 'pace'))) {
    const why = 'A replay to a step is strict, and as fast as it can be.'
    throw usageError('--step cannot be combined with --observe or --pace.', why)
  }
}
