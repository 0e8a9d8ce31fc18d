import { parseUpstreams } from '@retake/engine/proxy'
import { openTape, TapeWriter } from '@retake/tape/node'
import { recordedMatchers } from '../config/project.js'
import { recordAgent } from '../record-agent.js'
import type { Recording, RecordingOptions } from '../record-agent.js'
import { recordCommand } from '../record-command.js'
import type { CommandRecordingOptions } from '../record-command.js'
import { wrongUsage } from '../errors/command-line.js'
import { FOUND } from '../exit-codes.js'
import { recordingFacts, recordingJson, recordingLine } from '../recording-line.js'
import { RunStore } from '../run-store.js'
import { signalExitCode } from '../signal-exit-code.js'
import { painter } from '../terminal.js'
import { flag, text, texts } from '../verb.js'
import type { OptionValues, Verb } from '../verb.js'

export const record: Verb = {
  usage: '[options] <file> [arguments of the agent…] | -- <command>',
  help: `The agent runs as it is: its output, input and exit code stay the same. What
Retake has to say goes to stderr when the agent has ended, with a line for each
thing that was not captured: what, where, and what follows for a replay.

A command of any other language goes after \`--\`: the base URLs that provider
SDKs read point at a recording proxy while it runs. On its tape are its
exchanges with providers, its output and its exit code (\`retake docs proxy\`).

Options, before the file:
  --name <name>          what the run is called in lists (default: the file's)
  --dir <folder>         where the tape goes (default: .retake/runs)
  --node-arg=<flag>      a flag for Node itself; may be repeated. Modules that it
                         preloads (--import, --require) are part of the run
  --upstream <name=url>  for a command: where a provider really is
  --matcher <name|file>  for a command: what may differ between requests
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
    if ('exchanges' in recording && recording.exchanges === 0 && !flag(values, 'json'))
      process.stderr.write(
        'no request came through the proxy; `retake docs proxy` says what leads there\n',
      )
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
  const foreign = ['upstream', 'matcher'].find((option) => texts(values, option).length > 0)
  if (foreign !== undefined) {
    const why = 'A JavaScript or TypeScript file is recorded from within, without a proxy.'
    throw wrongUsage('record', `--${foreign} needs a command after \`--\`.`, why)
  }
  return { entry, nodeArgs: texts(values, 'node-arg'), strict: flag(values, 'strict') }
}

function commandOptions(
  values: OptionValues,
  command: readonly string[],
): Pick<CommandRecordingOptions, 'command' | 'upstreams' | 'matchers'> {
  if (command.length === 0)
    throw wrongUsage('record', 'No command follows `--`.', 'For example: -- python agent.py.')
  if (texts(values, 'node-arg').length > 0)
    throw wrongUsage('record', '--node-arg needs a file.', 'A command gets its own arguments.')
  return {
    command,
    upstreams: parseUpstreams(texts(values, 'upstream')),
    matchers: recordedMatchers(texts(values, 'matcher')),
  }
}

/** The agent was stopped before it could finish its tape. Everything it did is there: this adds how it ended. */
function endTape({ tape, signal }: Recording): void {
  if (openTape(tape).status !== 'truncated' || signal === undefined) return
  const writer = TapeWriter.reopen(tape)
  writer.append({ type: 'end', signal })
  writer.seal()
}
