import path from 'node:path'
import { parseUpstreams } from '@retake/engine/proxy'
import { openTape, TapeWriter } from '@retake/tape/node'
import { recordedMatchers } from '../config/project.js'
import { recordAgent, type Recording, type RecordingOptions } from '../agent/record-agent.js'
import {
  type CommandRecording,
  type CommandRecordingOptions,
  recordCommand,
} from '../agent/record-command.js'
import { wrongUsage } from '../errors/command-line.js'
import { FOUND, signalExitCode } from '../command-line/exit-codes.js'
import { recordingFacts, recordingJson, recordingLine } from '../agent/recording-line.js'
import { RunStore } from '../runs/run-store.js'
import { painter } from '../terminal/terminal.js'
import { flag, type OptionValues, text, texts, type Verb } from '../command-line/verb.js'

export const record: Verb = {
  usage: '[options] <file> [arguments of the agent…] | -- <command>',
  help: `The agent runs as it is: its output, input and exit code stay the same. What
Retake has to say goes to stderr when the agent has ended, with a line for each
thing that was not captured: what, where, and what follows for a replay.

A command of any other language goes after \`--\`: the base URLs that provider
SDKs read, and HTTP_PROXY and the like, point at a recording proxy while it
runs. On its tape are its HTTP requests, its output and its exit code; HTTPS to
other hosts than providers only with --tls (\`retake docs proxy\`).

Options, before the file:
  --name <name>          what the run is called in lists (default: the file's)
  --dir <folder>         where the tape goes (default: .retake/runs)
  --node-arg=<flag>      a flag for Node itself; may be repeated. Modules it
                         preloads (--import, --require) are part of the run
  --upstream <name=url>  for a command: where a provider really is
  --matcher <name|file>  for a command: what may differ between requests
  --tls                  for a command: record its HTTPS, too; the command is
                         made to trust certificates of this run
  --strict               exit with 3 if something was not captured and the agent
                         itself ended with 0; stop a program when it listens
  --json                 say the result as one line of JSON, on stderr

Examples:
  retake record agent.ts
  retake record --name refund src/agent.mjs --order 1182
  retake record --node-arg=--env-file=.env agent.ts
  retake record -- python agent.py`,
  options: {
    name: { type: 'string' },
    dir: { type: 'string' },
    'node-arg': { type: 'string', multiple: true },
    upstream: { type: 'string', multiple: true },
    matcher: { type: 'string', multiple: true },
    strict: { type: 'boolean' },
    tls: { type: 'boolean' },
  },
  agentFollows: true,
  stdoutIsAgents: true,
  async run(values, [entry, ...args]) {
    if (entry === undefined)
      throw wrongUsage('record', 'No file was named.', 'Retake needs the file to run.')
    const recording =
      entry === '--'
        ? await recordCommand({ ...commonOf(values), ...commandOptions(values, args) })
        : await recordAgent({ ...commonOf(values), ...agentOptions(values, entry), args })
    if (recording.signal && recording.signal !== 'SIGKILL') endTape(recording)
    const facts = recordingFacts(recording)
    const said = flag(values, 'json')
      ? recordingJson(recording, facts)
      : recordingLine(recording, painter(process.stderr), facts)
    process.stderr.write(`${said}\n`)
    if (isOfCommand(recording) && !flag(values, 'json'))
      for (const line of commandLines(recording, args)) process.stderr.write(`${line}\n`)
    if (recording.signal) return signalExitCode(recording.signal)
    const isIncomplete = flag(values, 'strict') && facts.notCaptured.length > 0
    return recording.code === 0 && isIncomplete ? FOUND : recording.code
  },
}

function commonOf(values: OptionValues): { readonly store: RunStore; readonly name?: string } {
  const name = text(values, 'name')
  return { store: new RunStore(text(values, 'dir')), ...(name !== undefined && { name }) }
}

function agentOptions(
  values: OptionValues,
  entry: string,
): Pick<RecordingOptions, 'entry' | 'nodeArgs' | 'strict'> {
  const foreign =
    ['upstream', 'matcher'].find((option) => texts(values, option).length > 0) ??
    (flag(values, 'tls') ? 'tls' : undefined)
  if (foreign !== undefined) {
    const why = 'A JavaScript or TypeScript file is recorded from within, without a proxy.'
    throw wrongUsage('record', `--${foreign} needs a command after \`--\`.`, why)
  }
  return { entry, nodeArgs: texts(values, 'node-arg'), strict: flag(values, 'strict') }
}

function commandOptions(
  values: OptionValues,
  command: readonly string[],
): Pick<CommandRecordingOptions, 'command' | 'upstreams' | 'matchers' | 'tls'> {
  if (command.length === 0)
    throw wrongUsage('record', 'No command follows `--`.', 'For example: -- python agent.py.')
  if (texts(values, 'node-arg').length > 0)
    throw wrongUsage('record', '--node-arg needs a file.', 'A command gets its own arguments.')
  return {
    command,
    tls: flag(values, 'tls'),
    upstreams: parseUpstreams(texts(values, 'upstream')),
    matchers: recordedMatchers(texts(values, 'matcher')),
  }
}

const isOfCommand = (recording: Recording): recording is CommandRecording =>
  'exchanges' in recording

/** Remarks about the recording of a command, besides what was not captured. */
function commandLines(
  { exchanges, remarks }: CommandRecording,
  command: readonly string[],
): string[] {
  const file = nodeFile(command)
  return [
    ...remarks,
    ...(exchanges === 0
      ? ['no request came through the proxy; `retake docs proxy` says what leads there']
      : []),
    ...(file === undefined
      ? []
      : [
          `A Node program: \`retake record ${file}\` records everything, not only its HTTP requests`,
        ]),
  ]
}

/** The file of a command such as `node agent.js`, `tsx agent.ts` or `npx tsx agent.ts`. */
function nodeFile(command: readonly string[]): string | undefined {
  const [program = '', ...args] = command[0] === 'npx' ? command.slice(1) : command
  if (!/^(node|nodejs|tsx|ts-node)(\.exe|\.cmd)?$/.test(path.basename(program))) return undefined
  return args.find((arg) => /^[^-].*\.[cm]?[jt]s$/.test(arg))
}

/** The agent was stopped before it could finish its tape. Everything it did is there: this adds how it ended. */
function endTape({ tape, signal }: Recording): void {
  if (openTape(tape).status !== 'truncated' || signal === undefined) return
  const writer = TapeWriter.reopen(tape)
  writer.append({ type: 'end', signal })
  writer.seal()
}
