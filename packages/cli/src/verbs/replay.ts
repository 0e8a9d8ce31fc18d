import { openTape } from '@retake/tape/node'
import { changedFileLines, changedFiles } from '../agent/changed-files.js'
import { wrongUsage } from '../errors/command-line.js'
import { FOUND, signalExitCode } from '../command-line/exit-codes.js'
import { ownPreloadLines } from '../agent/preloads.js'
import { replayAgent } from '../agent/replay-agent.js'
import { replayCommandRun } from '../agent/replay-recorded-command.js'
import { replayReceipt } from '../agent/replay-receipt.js'
import { replayToStep } from '../debug/replay-to-step.js'
import { RunStore } from '../runs/run-store.js'
import { painter, widthOf, printJson } from '../terminal/terminal.js'
import { TRUST_OPTION } from '../agent/trust.js'
import { flag, type OptionValues, text, texts, type Verb } from '../command-line/verb.js'

export const replay: Verb = {
  usage: '<run> [--step N [--inspect]] [options]',
  help: `Runs the real code again, with the recorded arguments in the recorded folder.
Nothing leaves the process: models, tools, files, clock and chance are answered
by the tape. Stops with exit code 3 where the program does something else.

A run is named by its id, the start of it, the path of its tape, or \`last\`.

A command that was recorded with \`record -- <command>\` is run again as well: its
providers are played by the tape; requests, stdout and exit code are compared.

With --step it runs only to the moment when step N's answer reached the program,
and shows the line of your code that ran next, the call stack and the variables.

Options:
  --step <N>         stop there and show the program's state
  --inspect[=port]   with --step: hold the program at that line, for Chrome
                     DevTools or VS Code to attach (default port: 9229)
  --observe          do not stop at a difference; report all of them
  --strict-files     exit with 3 when a project file the run read has changed
                     since (default: a warning; it is served as recorded)
  --pace             keep the recorded pauses (default: full speed)
  --node-arg=<flag>  a flag for Node itself; may be repeated. Modules it
                     preloads are not part of the run: they really run
  --trust            also start the program of a run from elsewhere
  --dir <folder>     where the tapes are (default: .retake/runs)
  --json             the receipt as JSON on stdout; the agent's output on stderr

Examples:
  retake replay last
  retake replay last --step 3
  retake replay last --step 3 --inspect
  retake replay 20261115-0930 --observe
  retake replay last --json 2>/dev/null | jq .identical`,
  valueOptional: ['inspect'],
  options: {
    ...TRUST_OPTION,
    step: { type: 'string' },
    inspect: { type: 'string' },
    observe: { type: 'boolean' },
    'strict-files': { type: 'boolean' },
    pace: { type: 'boolean' },
    dir: { type: 'string' },
    'node-arg': { type: 'string', multiple: true },
  },
  async run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0) {
      throw wrongUsage('replay', 'Name one run to replay.', 'For example: retake replay last.')
    }
    const json = flag(values, 'json')
    const step = text(values, 'step')
    const inspect = text(values, 'inspect')
    checkOptions(values, step, inspect)
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    if (step !== undefined)
      return replayToStep(tape, { step, inspect, json, nodeArgs: texts(values, 'node-arg') })
    if (tape.details.command !== undefined) return replayCommandRun(tape, values)
    const replayed = await replayAgent(tape, {
      observe: flag(values, 'observe'),
      pace: flag(values, 'pace'),
      nodeArgs: texts(values, 'node-arg'),
      ...(json && { stdio: ['ignore', process.stderr, process.stderr] as const }),
    })
    const look = { paint: painter(process.stderr), width: widthOf(process.stderr) }
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
}

function checkOptions(
  values: OptionValues,
  step: string | undefined,
  inspect: string | undefined,
): void {
  if (inspect !== undefined && step === undefined) {
    const why = 'It holds the program at a step, for example --step 3 --inspect.'
    throw wrongUsage('replay', '--inspect needs --step.', why)
  }
  if (step !== undefined && (flag(values, 'observe') || flag(values, 'pace'))) {
    const why = 'A replay to a step is strict, and as fast as it can be.'
    throw wrongUsage('replay', '--step does not go with --observe or --pace.', why)
  }
}
