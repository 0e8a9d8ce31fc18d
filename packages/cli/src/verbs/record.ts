import {
  DIR_OPTION,
  DURABILITY_OPTION,
  type Options,
  usageError,
  type Verb,
} from '@retake/runner/command-line'
import path from 'node:path'
import { isTag, ownOrNewKey, readPatterns, ruleTexts, VaultKey } from '@retake/engine/runs'
import { cliErrors } from '@retake/runner/errors'
import { project, recordedMatchers } from '@retake/runner/config'
import { recordAgent, type AgentRecording } from '@retake/runner/record'
import { defined } from '@retake/tape'
import type { CommandRecording, CommandRecordingOptions } from '@retake/runner/commands'
import { FOUND, signalExitCode } from '@retake/runner/command-line'
import { painter, linesOf } from '@retake/runner/terminal'

export default {
  arguments: '<file> [arguments of the agent...] | -- <command>',
  description: `Runs the agent unchanged: same output, same input, same exit code. At the end,
Retake prints a summary to stderr and lists everything it could not capture: what, where, and what
that means for a replay.

Put commands in other languages after \`--\`. While such a command runs, the base URLs of provider
SDKs, HTTP_PROXY and similar variables point to a recording proxy. The tape contains its HTTP
requests, output and exit code. HTTPS to other hosts is only recorded with --tls (\`retake docs
proxy\`).

Options go before the file.`,
  options: {
    '--name <name>': 'name of the run in lists (default: the file name)',
    '--tag <tag>...': 'tag of the run, for `retake list --tag`; repeatable',
    ...DIR_OPTION,
    '-o, --out <file>':
      'path of the tape, such as tapes/refund.tape; its name is the id of the run',
    '--node-arg <flag>...':
      'flag for Node, as in --node-arg=--flag; preloaded modules are part of the run; repeatable',
    '--upstream <name=url>...': 'for a command: the address of a provider; repeatable',
    '--matcher <name|file>...':
      'for a command: ignore what may differ between requests (see `retake docs proxy`); repeatable',
    '--tls':
      'for a command: also record HTTPS; the command must trust certificates that Retake creates for this run',
    '--children':
      'also record each Node program that the agent starts, on a separate tape, so that `retake blame` searches its steps',
    ...DURABILITY_OPTION,
    '--sign':
      'sign the seal with the key of this machine, and let `retake receipt make` disclose single steps; also `seal: { sign: true }` in retake.config',
    '--redact <rule>...':
      'replace personal data by pseudonyms before it is written: email, phone, card, iban, ip, id, content, names:<file>, module:<file>, or a regular expression; also `recording: { redact }` in retake.config; repeatable',
    '--push':
      'send the run to the team server while it is recorded, in the background; also `push` in retake.config',
    '--strict':
      'exit with 3 if something was not captured and the agent exited with 0; stop a program that starts a server',
    '--json': 'print the result as one line of JSON on stderr',
  },
  examples: [
    'retake record agent.ts',
    'retake record --name refund src/agent.mjs --order 1182',
    'retake record --node-arg=--env-file=.env agent.ts',
    'retake record -- python agent.py',
    'retake record --redact email --redact names:customers.txt agent.ts',
  ],
  agentFollows: true,
  stdoutIsAgents: true,
  async run(options, [entry = '', ...args]) {
    const tags = options.texts('tag')
    const invalid = tags.find((tag) => !isTag(tag))
    if (invalid !== undefined) throw cliErrors.TAG_INVALID(invalid)
    const sign = options.flag('sign') || project().seal.sign === true

    // Reports an unusable key before the agent runs, not at its end.
    if (sign) ownOrNewKey('seal')
    const names = defined({ name: options.text('name'), out: options.text('out') })
    const { store } = options
    const common = {
      store,
      sign,
      ...names,
      ...options.durability(),
      ...(tags.length > 0 && { tags }),
    }
    const isPushed = options.flag('push')
    const planned = { ...common, ...(isPushed && { out: options.store.newRun(common.out).tape }) }
    const running =
      entry === '--'
        ? startCommand({ ...planned, ...commandOptions(options, args) })
        : recordAgent({ ...planned, ...agentOptions(options, entry), args })
    // Code for reading tapes is large, so it is loaded while the agent runs.
    const [recording, summary] = await Promise.all([
      running,
      import('@retake/runner/recording-summary'),
      ...(isPushed ? [pushWhileRecorded(planned.out ?? '')] : []),
    ])
    if (recording.signal) {
      const { endTape } = await import('@retake/runner/agent')
      endTape(recording.tape, recording.signal)
    }
    const facts = summary.recordingFacts(recording)
    const said = options.json
      ? summary.recordingJson(recording, facts)
      : summary.recordingLine(recording, painter(process.stderr), facts)
    process.stderr.write(`${said}\n`)
    if (isOfCommand(recording) && !options.json)
      for (const line of commandLines(recording, args)) process.stderr.write(`${line}\n`)
    if (!isPushed && project().push.project !== undefined) {
      const { autoPush } = await import('../team/auto-push.js')
      autoPush(recording.tape, recording.code !== 0 || recording.signal !== undefined)
    }
    if (recording.signal) return signalExitCode(recording.signal)
    const isIncomplete = options.flag('strict') && facts.notCaptured.length > 0
    return recording.code === 0 && isIncomplete ? FOUND : recording.code
  },
} satisfies Verb

/** Another process follows the tape, so that the agent does not wait for the server. */
async function pushWhileRecorded(tape: string): Promise<void> {
  const { pushInBackground } = await import('../team/auto-push.js')
  const { project: target } = project().push
  pushInBackground([tape, '--follow', ...(target === undefined ? [] : [`--project=${target}`])])
}

/** Loads the proxy, which recording a file does not need. */
async function startCommand(options: CommandRecordingOptions): Promise<CommandRecording> {
  const { recordCommand } = await import('@retake/runner/commands')
  return recordCommand(options)
}

function agentOptions(options: Options, entry: string) {
  const foreign = ['upstream', 'matcher', 'tls'].find((option) => options.has(option))
  if (foreign !== undefined) {
    const why = 'A JavaScript or TypeScript file is recorded from within, without a proxy.'
    throw usageError(`--${foreign} needs a command after \`--\`.`, why)
  }
  const nodeArgs = options.texts('node-arg')
  if (nodeArgs.some((flag) => flag.startsWith('--watch')))
    throw usageError(
      'A program that Node starts again after each change is not one run.',
      'Leave out --watch, and let your watcher start `retake record`.',
    )
  const redact = redactRules(options)
  // Reports an unusable rule or key before the agent starts.
  if (redact.length > 0) {
    readPatterns(redact.filter((rule) => rule !== 'content'))
    VaultKey.ownOrNew()
  }
  return {
    entry,
    ...(redact.length > 0 && { redact }),
    nodeArgs,
    strict: options.flag('strict'),
    recordsChildren: options.flag('children'),
  }
}

function commandOptions(options: Options, command: readonly string[]) {
  if (command.length === 0)
    throw usageError('No command follows `--`.', 'For example: -- python agent.py.')
  if (options.has('node-arg'))
    throw usageError('--node-arg needs a file.', 'A command gets its own arguments.')
  if (redactRules(options).length > 0)
    throw usageError(
      'Personal data cannot be hidden while a command is recorded.',
      'Use `retake scrub --redact` on the run, or record a Node program.',
    )
  if (options.flag('children'))
    throw usageError(
      '--children needs a file.',
      'A command is recorded by a proxy, which sees no processes.',
    )
  return {
    command,
    tls: options.flag('tls'),
    upstreams: options.texts('upstream'),
    matchers: recordedMatchers(options.texts('matcher')),
  }
}

const redactRules = (options: Options): string[] => [
  ...ruleTexts(project().recording.redact ?? []),
  ...options.texts('redact'),
]

const isOfCommand = (recording: AgentRecording): recording is CommandRecording =>
  'exchanges' in recording

/** Remarks about a recorded command, besides what was not captured. */
function commandLines(
  { exchanges, remarks }: CommandRecording,
  command: readonly string[],
): string[] {
  // The file of a command such as `node agent.js`, `tsx agent.ts` or `npx tsx agent.ts`.
  const [program = '', ...args] = command[0] === 'npx' ? command.slice(1) : command
  const file = !/^(node|nodejs|tsx|ts-node)(\.exe|\.cmd)?$/.test(path.basename(program))
    ? undefined
    : args.find((arg) => /^[^-].*\.[cm]?[jt]s$/.test(arg))
  return linesOf(
    ...remarks,
    exchanges === 0 && 'the proxy saw no requests; `retake docs proxy` explains how to route them',
    file !== undefined &&
      `A Node program: \`retake record ${file}\` records everything, not only its HTTP requests`,
  )
}
