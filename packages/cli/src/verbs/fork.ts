import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type ForkOptions, planFork } from '@retake/engine'
import { answerPayload, parseSet, type Payload, type Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { CONTINUE_HELP, CONTINUE_OPTIONS, continueVerb } from '../agent/continue-verb.js'
import {
  editedNotJson,
  editorFailed,
  nothingEdited,
  responseUnreadable,
} from '../errors/branches.js'
import { wrongUsage } from '../errors/command-line.js'
import { refuseProxyRun } from '../agent/replay-command.js'
import { RunStore } from '../runs/run-store.js'
import { requireTrust } from '../agent/trust.js'
import { flag, type OptionValues, text, texts, type Verb } from '../command-line/verb.js'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Interrupted } from '../agent/agent-process.js'
import { noSuchStep } from '../errors/runs.js'
import { errorLines, explain } from '../command-line/print-error.js'
import { viewRun } from '../runs/view-run.js'

/**
 * Opens the answer of a step in the user's editor and gives back what was saved,
 * as the whole answer. What does not parse, or is no answer of that provider, is
 * said on the terminal and can be corrected; elsewhere it is an error.
 */
async function editPayload(
  tape: Tape,
  options: ForkOptions,
): Promise<Pick<ForkOptions, 'payload'>> {
  const view = viewRun(tape)
  const step = view.step(options.at)
  if (step === undefined) throw noSuchStep(view.id, String(options.at), view.recordedSteps.length)
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-edit-'))
  try {
    const payload = answerPayload(tape, step)
    const before = textOf(payload)
    const file = path.join(folder, `step-${step.label}.${isText(payload) ? 'txt' : 'json'}`)
    writeFileSync(file, before, { mode: 0o600 })
    for (;;) {
      openEditor(file)
      const after = readFileSync(file, 'utf8')
      if (after === before) throw nothingEdited(step.label)
      try {
        const edited = { kind: payload.kind, data: dataOf(payload, after) }
        planFork(tape, { ...options, payload: edited })
        return { payload: edited }
      } catch (error) {
        await offerAnotherTry(error)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const isText = ({ kind }: Payload): boolean => kind === 'text'

const textOf = (payload: Payload): string =>
  isText(payload)
    ? (payload.data as { text: string }).text
    : `${JSON.stringify(payload.data, undefined, 2)}\n`

function dataOf(payload: Payload, text: string): unknown {
  if (isText(payload)) return { text }
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw editedNotJson(cause)
  }
}

function openEditor(file: string): void {
  const editor = process.env['VISUAL'] || process.env['EDITOR'] || 'vi'
  // A shell, because the variable may hold arguments: "code --wait".
  const { status, error } = spawnSync(`${editor} "$RETAKE_EDIT_FILE"`, {
    shell: true,
    stdio: 'inherit',
    env: { ...process.env, RETAKE_EDIT_FILE: file },
  })
  if (error !== undefined || status !== 0) throw editorFailed(editor, status)
}

async function offerAnotherTry(error: unknown): Promise<void> {
  const explained = explain(error)
  if (explained === undefined || !process.stdin.isTTY) throw error
  process.stderr.write(errorLines(explained))
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const said = await lines.question('Edit it again? [Y/n] ')
    if (/^n/i.test(said)) throw new Interrupted('SIGINT')
  } finally {
    lines.close()
  }
}

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
