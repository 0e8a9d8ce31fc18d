import { readFileSync } from 'node:fs'
import { planFork } from '@retake/engine'
import type { ForkOptions } from '@retake/engine'
import { parseSet } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { CONTINUE_HELP, CONTINUE_OPTIONS, continueVerb } from '../continue-verb.js'
import { editPayload } from '../edit-payload.js'
import { responseUnreadable } from '../errors/branches.js'
import { wrongUsage } from '../errors/command-line.js'
import { refuseProxyRun } from '../replay-command.js'
import { RunStore } from '../run-store.js'
import { requireTrust } from '../trust.js'
import { flag, text, texts } from '../verb.js'
import type { OptionValues, Verb } from '../verb.js'

export const fork: Verb = {
  usage: '<run> --at N [--set path=json | --request path=json | --edit]',
  help: `Everything before step N is served from the tape and costs nothing. Step N gets
the answer you give it, or is asked again; what follows is live and recorded as
a branch. The parent's tape never changes.

Options:
  --at <N>             the step; e17 means event 17, for a clock or random value
  --set <path>=<json>  change the parsed answer or tool result; may be repeated
  --response <file>    put a file in place of the whole answer
  --edit               open the answer in $EDITOR
  --request <path>=<json>
                       change what is asked (model, prompt, tools), or the
                       arguments of the tool; the answer is then live
  --status <code>      another HTTP status for the answer
  --force              accept an answer that the provider would never give
  --tail offline       serve the parent's answers also after the fork, where the
                       request is identical, and stop where it is not
  --name <name>        what the branch is called (default: like its parent)
${CONTINUE_HELP}

Examples:
  retake fork last --at 4 --set 'choices.0.message.content="No."'
  retake fork last --at 3 --set 'price=49' --tail offline
  retake fork last --at 2 --request 'model="gpt-5-mini"'
  retake fork last --at e17 --set value=0.5`,
  options: {
    ...CONTINUE_OPTIONS,
    at: { type: 'string' },
    set: { type: 'string', multiple: true },
    response: { type: 'string' },
    edit: { type: 'boolean' },
    request: { type: 'string', multiple: true },
    status: { type: 'string' },
    force: { type: 'boolean' },
    tail: { type: 'string' },
    name: { type: 'string' },
  },
  stdoutIsAgents: true,
  async run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0)
      throw wrongUsage('fork', 'Name one run to fork.', 'For example: retake fork last --at 3.')
    const at = text(values, 'at')
    if (at === undefined)
      throw wrongUsage('fork', 'Say at which step.', 'For example: retake fork last --at 3.')
    if (flag(values, 'edit') && text(values, 'response') !== undefined)
      throw wrongUsage('fork', '--edit and --response exclude each other.', BOTH_WHOLE)
    const options = readOptions(values, at)
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    refuseProxyRun(tape)
    requireTrust(tape)
    const edited = flag(values, 'edit') ? await editPayload(tape, options) : {}
    return continueVerb(tape, planFork(tape, { ...options, ...edited }), 'forked', values)
  },
}

const BOTH_WHOLE = 'Each of them replaces the whole answer of the step.'

function readOptions(values: OptionValues, at: string): ForkOptions {
  const file = text(values, 'response')
  const status = text(values, 'status')
  const tail = text(values, 'tail') ?? 'live'
  const branchName = text(values, 'name')
  if (tail !== 'live' && tail !== 'offline')
    throw wrongUsage('fork', `"${tail}" is no tail.`, 'It is live or offline.')
  if (status !== undefined && !/^[1-5]\d\d$/.test(status))
    throw wrongUsage('fork', `"${status}" is no HTTP status.`, 'It is a number from 100 to 599.')
  return {
    at,
    set: readSets('set', texts(values, 'set')),
    request: readSets('request', texts(values, 'request')),
    ...(file !== undefined && { response: readResponse(file) }),
    ...(status !== undefined && { status: Number(status) }),
    force: flag(values, 'force'),
    tail,
    ...(branchName !== undefined && { name: branchName }),
  }
}

/** Two values for one path contradict each other, and neither can be preferred. */
function readSets(option: string, given: readonly string[]): Record<string, unknown> {
  const sets: Record<string, unknown> = {}
  for (const { path, value } of given.map(parseSet)) {
    if (Object.hasOwn(sets, path))
      throw wrongUsage(
        'fork',
        `--${option} changes ${path} twice.`,
        'Give one value for each path. For two answers, make two branches.',
      )
    Object.defineProperty(sets, path, { value, enumerable: true })
  }
  return sets
}

function readResponse(file: string): Uint8Array {
  try {
    return readFileSync(file)
  } catch (error) {
    throw responseUnreadable(file, error)
  }
}
