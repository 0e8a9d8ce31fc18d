import { openTape, TapeWriter } from '@retake/tape/node'
import { recordAgent } from '../record-agent.js'
import type { Recording } from '../record-agent.js'
import { wrongUsage } from '../errors.js'
import { recordingJson, recordingLine } from '../recording-line.js'
import { RunStore } from '../run-store.js'
import { signalExitCode } from '../signal-exit-code.js'
import { painter } from '../terminal.js'
import { flag, text, texts } from '../verb.js'
import type { Verb } from '../verb.js'

export const record: Verb = {
  name: 'record',
  summary: 'Run an agent and record everything it touches',
  usage: '[options] <file> [arguments of the agent…]',
  help: `The agent runs as it is: its output, input and exit code stay the same. What
Retake has to say goes to stderr when the agent has ended.

Options, before the file:
  --name <name>      what the run is called in lists (default: the file's name)
  --dir <folder>     where the tape goes (default: .retake/runs)
  --node-arg=<flag>  a flag for Node itself; may be repeated
  --json             say the result as one line of JSON, on stderr

Examples:
  retake record agent.ts
  retake record --name refund src/agent.mjs --order 1182
  retake record --node-arg=--env-file=.env agent.ts`,
  options: {
    name: { type: 'string' },
    dir: { type: 'string' },
    'node-arg': { type: 'string', multiple: true },
  },
  agentFollows: true,
  stdoutIsAgents: true,
  async run(values, [entry, ...args]) {
    if (entry === '--') {
      throw wrongUsage(
        'record',
        'A command after "--" cannot be recorded yet.',
        'Retake records JavaScript and TypeScript files.',
      )
    }
    if (entry === undefined)
      throw wrongUsage('record', 'No file was named.', 'Retake needs the file to run.')
    const name = text(values, 'name')
    const recording = await recordAgent({
      store: new RunStore(text(values, 'dir')),
      entry,
      args,
      ...(name !== undefined && { name }),
      nodeArgs: texts(values, 'node-arg'),
    })
    if (recording.signal && recording.signal !== 'SIGKILL') endTape(recording)
    const said = flag(values, 'json')
      ? recordingJson(recording)
      : recordingLine(recording, painter(process.stderr))
    process.stderr.write(`${said}
`)
    return recording.signal ? signalExitCode(recording.signal) : recording.code
  },
}

/** The agent was stopped before it could finish its tape. Everything it did is there: this adds how it ended. */
function endTape({ tape, signal }: Recording): void {
  if (openTape(tape).status !== 'truncated' || signal === undefined) return
  const writer = TapeWriter.reopen(tape)
  writer.append({ type: 'end', signal })
  writer.seal()
}
