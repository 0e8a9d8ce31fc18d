import { type Options, usageError, type Verb } from '@retake/runner/command-line'
import { readFileSync, writeFileSync } from 'node:fs'
import type { ForkOptions } from '@retake/engine'
import { planFork } from '@retake/engine/plans'
import { answerPayload, parseSet, type Tape, tapeErrors } from '@retake/tape'
import { CONTINUE_OPTIONS, continueVerb } from '@retake/runner/agent'
import { cliErrors } from '@retake/runner/errors'
import { refuseProxyRun } from '@retake/runner/agent'
import { requireTrust } from '@retake/runner/agent'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { Interrupted } from '@retake/runner/command-line'
import { temporaryFolder } from '@retake/runner/temporary-folder'
import { promptOnTerminal } from '@retake/runner/terminal'
import { errorLines, explain } from '@retake/runner/command-line'
import { findStep, viewRun } from '@retake/runner/runs'
import { RecordedCode } from '@retake/runner/sources'

/**
 * Opens the answer of a step in the user's editor and returns the saved text as the whole answer.
 * On a terminal, an invalid answer can be corrected; elsewhere it is an error.
 */
async function editPayload(
  tape: Tape,
  options: ForkOptions,
): Promise<Pick<ForkOptions, 'payload'>> {
  const step = findStep(viewRun(tape), String(options.at))
  using folder = temporaryFolder('edit')
  const payload = answerPayload(tape, step)
  const isText = payload.kind === 'text'
  const before = isText
    ? (payload.data as { text: string }).text
    : `${JSON.stringify(payload.data, undefined, 2)}\n`
  const file = path.join(folder.path, `step-${step.label}.${isText ? 'txt' : 'json'}`)
  writeFileSync(file, before, { mode: 0o600 })
  for (;;) {
    openEditor(file)
    const after = readFileSync(file, 'utf8')
    if (after === before) throw cliErrors.NOTHING_EDITED(`The answer of step ${step.label}`)
    try {
      const data = isText ? { text: after } : parseEdited(after)
      const edited = { kind: payload.kind, data }
      planFork(tape, { ...options, payload: edited })
      return { payload: edited }
    } catch (error) {
      const explained = explain(error)
      if (explained === undefined || !process.stdin.isTTY) throw error
      process.stderr.write(errorLines(explained))
      const said = await promptOnTerminal((prompt) => prompt('Edit it again? [Y/n] '))
      if (/^n/i.test(said)) throw new Interrupted('SIGINT')
    }
  }
}

function parseEdited(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw tapeErrors.EDIT_NOT_JSON(cause)
  }
}

function openEditor(file: string): void {
  const chosen = process.env['VISUAL'] || process.env['EDITOR']
  if (!chosen && !(process.stdin.isTTY && process.stdout.isTTY)) throw cliErrors.EDITOR_MISSING()
  const editor = chosen || 'vi'
  // Uses a shell, because the variable may contain arguments: "code --wait".
  const { status, error } = spawnSync(`${editor} "$RETAKE_EDIT_FILE"`, {
    shell: true,
    stdio: 'inherit',
    env: { ...process.env, RETAKE_EDIT_FILE: file },
  })
  if (error !== undefined || status !== 0) throw cliErrors.EDITOR_FAILED(editor, status)
}

export default {
  arguments: '<run>',
  description: `Serves everything before step N from the tape, at no cost. Step N gets the answer
that you give, or is sent again. Everything after it is live and recorded as a branch. The tape of
the parent never changes.

Repeat --at to change several steps; put the changes of a step after its --at. The branch is live
after the first changed step; the other changes apply to the corresponding steps of the branch.`,
  options: {
    '--at <N>...':
      'the step; e17 is event 17, for a clock value, a random value or a file read; repeatable (required)',
    '--set <path=json>...': 'change the parsed answer or tool result; repeatable',
    '--response <file>...':
      'replace the whole answer, or the content of a file read, with this file',
    '--edit': 'open the answer in $EDITOR',
    '--request <path=json>...':
      'change the request (model, prompt, tools) or the tool arguments, and get a live answer; repeatable',
    '--every-request <path=json>...':
      'change every live request to a model, such as model="x"; path=@file reads a text from a file; repeatable',
    '--status <code>...': 'change the HTTP status of the answer',
    '--force': 'accept an answer that is invalid for the provider',
    '--tail <offline>':
      "offline: after the fork, serve the parent's answers to identical requests, and stop at the first request that differs",
    '--code <recorded|today>':
      'recorded: run the code that was recorded, although it has changed since (default: today)',
    '--name <name>': 'name of the branch (default: the name of its parent)',
    ...CONTINUE_OPTIONS,
  },
  examples: [
    `retake fork last --at 4 --set 'choices.0.message.content="No."'`,
    `retake fork last --at 3 --set 'price=49' --tail offline`,
    `retake fork last --at 3 --set 'price=49' --code recorded`,
    `retake fork last --at 2 --request 'model="gpt-5-mini"'`,
    'retake fork last --at e17 --set value=0.5',
    `retake fork last --at 1 --every-request 'messages.0.content=@system.md'`,
    `retake fork last --at 3 --set 'price=49' --at 7 --set 'stock=0'`,
  ],
  stdoutIsAgents: true,
  async run(options, [name = '']) {
    if (options.flag('edit') && (options.has('response') || options.texts('at').length > 1))
      throw usageError(
        '--edit takes one step, without --response.',
        'Each of them replaces the whole answer of the step.',
      )
    const tail = options.choice('tail', ['live', 'offline']) ?? 'live'
    const branchName = options.text('name')
    const [first, ...further] = options
      .groups('at', { set: 'many', request: 'many', response: 'one', status: 'one' })
      .map((group) => readChange(group, options.flag('force')))
    const wanted = {
      at: '',
      ...first,
      ...(further.length > 0 && { further }),
      everyRequest: readEveryRequest(options.texts('every-request')),
      tail,
      ...(branchName !== undefined && { name: branchName }),
    }
    const tape = options.openRun(name)
    refuseProxyRun(tape)
    requireTrust(tape)
    const isRecorded = options.choice('code', ['recorded', 'today']) === 'recorded'
    using code = isRecorded ? RecordedCode.required(tape) : undefined
    const edited = options.flag('edit') ? await editPayload(tape, wanted) : {}
    return await continueVerb(
      tape,
      planFork(tape, { ...wanted, ...edited }),
      'forked',
      options,
      code,
    )
  },
} satisfies Verb

function readChange(options: Options, force: boolean): ForkOptions {
  const file = options.text('response')
  const status = options.text('status')
  if (status !== undefined && !/^[1-5]\d\d$/.test(status))
    throw usageError(`"${status}" is not an HTTP status.`, 'Use a number from 100 to 599.')
  return {
    at: options.text('at') ?? '',
    set: readSets('set', options.texts('set')),
    request: readSets('request', options.texts('request')),
    ...(file !== undefined && { response: readResponse(file) }),
    ...(status !== undefined && { status: Number(status) }),
    force,
  }
}

/** Changes to every live request. `path=@file` reads a text from a file. */
export function readEveryRequest(given: readonly string[]): Record<string, unknown> {
  return readSets(
    'every-request',
    given.map((text) => {
      const [, where, file] = /^([^=]+)=@(.+)$/s.exec(text) ?? []
      if (where === undefined || file === undefined) return text
      return `${where}=${JSON.stringify(Buffer.from(readResponse(file)).toString())}`
    }),
  )
}

/** Rejects two values for one path, because neither can be preferred. */
function readSets(option: string, given: readonly string[]): Record<string, unknown> {
  const sets: Record<string, unknown> = {}
  for (const { path, value } of given.map(parseSet)) {
    if (Object.hasOwn(sets, path))
      throw usageError(
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
    throw cliErrors.RESPONSE_UNREADABLE(file, error)
  }
}
