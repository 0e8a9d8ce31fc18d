import {
  type Options,
  PORT,
  usageError,
  type Verb,
  PROGRAM_OPTIONS,
} from '@retake/runner/command-line'
import { cutTo, type Look, lookOf, printable, printJson, wrap } from '@retake/runner/terminal'
import { changedFileLines, changedFiles } from '@retake/runner/agent'
import { FOUND, signalExitCode } from '@retake/runner/command-line'
import { ownPreloadLines } from '@retake/runner/agent'
import { replayAgent, replayReceipt, requireTrust } from '@retake/runner/agent'
import type { Step, Tape } from '@retake/tape'
import { isCutOff } from '@retake/runner/runs'
import { codeToShow, RecordedCode } from '@retake/runner/sources'
import { checkEnd, explainingDivergence, stopAtStep, withProbe } from '@retake/runner/debug'
import { findStep, viewRun } from '@retake/runner/runs'
import { stopJson, stopLines } from '@retake/runner/debug'
import type { Probe } from '@retake/engine/inspect'
import { temporaryFolder } from '@retake/runner/temporary-folder'
import { cliErrors } from '@retake/runner/errors'
import { isStructural } from '@retake/engine/runs'
import { originalOf } from '@retake/runner/privacy'
import { statSync } from 'node:fs'

async function openInspector(probe: Probe, port: number): Promise<URL> {
  const url = await probe.openInspector(port)
  if (!url) throw cliErrors.INSPECTOR_NOT_OPENED(port)
  return new URL(url)
}

function inspectorLines(url: URL, cwd: string): string[] {
  const configuration = {
    type: 'node',
    request: 'attach',
    name: 'Retake',
    address: url.hostname,
    port: Number(url.port),
    cwd,
    skipFiles: ['<node_internals>/**', '**/node_modules/**'],
  }
  return [
    `The program is paused there. Debugger: ${url.href}`,
    '',
    `Chrome   open chrome://inspect, choose Configure…, add ${url.host}, then inspect`,
    'VS Code  put this into configurations of .vscode/launch.json, then Run > Start Debugging:',
    ...JSON.stringify(configuration, undefined, 2)
      .split('\n')
      .map((line) => `         ${line}`),
    '',
    'It runs on to its end when the debugger resumes it; Ctrl-C ends it.',
  ]
}

async function replayToStep(
  tape: Tape,
  label: string,
  /** Port of the inspector; 0 for any free one. */
  port: number | undefined,
  options: Options,
): Promise<number> {
  const { json } = options
  const nodeArgs = options.texts('node-arg')
  const view = viewRun(tape)
  const step = findStep(view, label)
  using code = codeToShow(tape)
  const output = {
    stdout: json ? process.stderr : 'inherit',
    stderr: 'inherit',
  } as const
  return await withProbe(
    tape,
    { nodeArgs, code, ...(port !== undefined && { output }) },
    (probe, interruption) =>
      explainingDivergence(tape, json, async () => {
        const stop = await stopAtStep(probe, view, step)
        const url = port === undefined ? undefined : await openInspector(probe, port)
        options.print(
          {
            run: tape.run.id,
            step: step.label,
            title: step.title,
            seq: stop.seq,
            ...(stopJson(stop) as object),
            ...(url && { inspector: url.href }),
          },
          (look) => [
            headOf(step, look),
            !stop.isDirect &&
              'none of your code ran for this answer alone; the next line that ran:',
            ...stopLines(stop, look),
            step.inferred && ['', ...wrap(inferredHint(step), look.width)],
          ],
          2,
        )
        if (url === undefined) return 0
        process.stderr.write(`\n${inspectorLines(url, tape.details.cwd ?? '.').join('\n')}\n`)
        const end = await probe.waitForEnd()
        interruption.throwIfAny()
        checkEnd(end)
        return end.exitCode
      }),
  )
}

/** An unwrapped tool has no event at which the program could be paused inside of it. */
const inferredHint = ({ number }: Step): string =>
  `The tool is a plain function. To stop before it runs: --step ${number}. To look inside: \`retake debug eval <run> --at <file>:<line> <expression>\`.`

const headOf = (step: Step, { paint, width }: Look): string => {
  const when = step.answerSeqs.length > 0 ? 'its answer has arrived' : 'it has no answer'
  const label = `step ${step.label}`
  const left = width - `${label}   · ${when}`.length
  return `${paint('bold', label)}  ${cutTo(printable(step.title), left)} · ${when}`
}

export default {
  arguments: '<run>',
  description: `Runs your real code again, with the recorded arguments in the recorded folder.
Nothing leaves the process: models, tools, files, clock and random numbers are served from the
tape. Stops with exit code 3 at the first difference, or where the tape ends if its end is missing.

A command recorded with \`record -- <command>\` runs again, too: the tape stands in for its
providers, and Retake compares requests, stdout and exit code.

With --step, stops when the answer of step N has reached the program, and shows the line of your
code that runs next, the call stack and the variables.`,
  options: {
    '--step <N>': "stop at this step and show the program's state",
    '--inspect [port]':
      'with --step: pause the program at that line, for Chrome DevTools or VS Code to attach (default port: 9229)',
    '--observe': 'report all differences instead of stopping at the first',
    '--strict-files':
      'exit with 3 if a project file that the run read has changed (default: a warning; the recorded content is served)',
    '--code <recorded|today>':
      'recorded: run the code that was recorded, although it has changed since (default: today)',
    '--install':
      'with --code recorded: install the packages of the recorded lock file into the temporary copy, without their install scripts',
    '--entry <file>': 'run this file instead of the recorded program, with the recorded arguments',
    '--pace': 'replay with the recorded pauses (default: full speed)',
    '--node-arg <flag>...':
      'flag for Node, as in --node-arg=--flag; preloaded modules are not part of the run and run for real; repeatable',
    ...PROGRAM_OPTIONS,
    '--json': "print the receipt as JSON on stdout, and the agent's output on stderr",
  },
  examples: [
    'retake replay last',
    'retake replay last --step 3',
    'retake replay last --step 3 --inspect',
    'retake replay 20261115-0930 --observe',
    'retake replay last --code recorded',
    'retake replay last --entry dist/agent.js',
    'retake replay last --json 2>/dev/null | jq .identical',
  ],
  async run(options, [name = '']) {
    const step = options.text('step')
    const inspect = options.text('inspect')
    // Chrome finds processes on port 9229 by itself.
    const port = inspect === '' ? 9229 : options.number('inspect', PORT)
    if (inspect !== undefined && step === undefined)
      throw usageError(
        '--inspect needs --step.',
        'It pauses the program at a step, for example --step 3 --inspect.',
      )
    if (step !== undefined && (options.flag('observe') || options.flag('pace')))
      throw usageError(
        '--step cannot be combined with --observe or --pace.',
        'A replay to a step is strict, and as fast as it can be.',
      )
    const entry = options.text('entry')
    if (entry !== undefined && !statSync(entry, { throwIfNoEntry: false })?.isFile())
      throw cliErrors.AGENT_MISSING(entry, process.cwd())
    const wanted = options.choice('code', ['recorded', 'today']) ?? 'today'
    if (wanted === 'recorded' && entry !== undefined)
      throw usageError('--code recorded cannot be combined with --entry.', 'Leave out one of them.')
    const installs = options.flag('install')
    if (installs && wanted !== 'recorded')
      throw usageError('--install needs --code recorded.', 'Add --code recorded.')
    using temporary = temporaryFolder('replay')
    const { tape, note } = originalOf(options.openRun(name), temporary.path)
    // A package manager runs by files of the tape.
    if (installs) requireTrust(tape)
    using code = wanted === 'recorded' ? RecordedCode.required(tape, { installs }) : undefined
    return await replayRun(tape, { step, port, entry, note, code }, options)
  },
} satisfies Verb

interface ReplayPlan {
  readonly step: string | undefined
  readonly port: number | undefined
  readonly entry: string | undefined
  /** Set if something other than the tape itself is replayed. */
  readonly note: string | undefined
  readonly code: RecordedCode | undefined
}

async function replayRun(
  tape: Tape,
  { step, port, entry, note, code }: ReplayPlan,
  options: Options,
): Promise<number> {
  const json = options.json
  if (note !== undefined) process.stderr.write(`${note}\n`)
  if (entry !== undefined && (step !== undefined || tape.details.command !== undefined))
    throw usageError(
      '--entry replays a Node program to its end.',
      'Leave out --step; a recorded command has no entry file.',
    )
  if (step !== undefined) return replayToStep(tape, step, port, options)
  if (tape.details.command !== undefined) {
    const { replayCommandRun } = await import('@retake/runner/commands')
    return replayCommandRun(tape, options)
  }
  const replayed = await replayAgent(tape, {
    observe: options.flag('observe'),
    pace: options.flag('pace'),
    entry,
    code,
    nodeArgs: options.texts('node-arg'),
    ...(json && { stdio: ['ignore', process.stderr, process.stderr] as const }),
  })
  const identical = replayed.divergences.length === 0
  const changed = changedFiles(tape)
  if (json) {
    const { digest } = tape
    const facts = {
      run: tape.run.id,
      digest,
      identical: identical && !isStructural(tape),
      ...(note && { note }),
    }
    const cutOff = replayed.cutOff || isCutOff(tape)
    printJson({ ...facts, ...replayed, cutOff, changedFiles: changed }, 2)
  } else {
    const lines = [
      ...replayReceipt(tape, replayed, lookOf(process.stderr)),
      ...changedFileLines(changed),
      ...ownPreloadLines(),
    ]
    process.stderr.write(`${lines.join('\n')}\n`)
  }
  if (!identical || (changed.length > 0 && options.flag('strict-files'))) return FOUND
  // A tape without its end shows only that nothing differs before.
  if (isCutOff(tape)) return FOUND
  if (replayed.signal) return signalExitCode(replayed.signal)
  return replayed.cutOff ? 0 : replayed.exitCode
}
