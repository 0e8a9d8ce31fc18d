import { clipText } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'
import type { ArgumentVector } from './argument-vector.js'
import type { Command } from './scopes.js'

const SHOWN_VECTORS = 12
const SHOWN_CHARACTERS = 200

/** Why a shell scope refuses a program. Each code has a page in docs/errors. */
export const shellErrors = {
  notAllowed: (
    rule: string,
    command: Command,
    vectors: readonly ArgumentVector[],
    why: string,
  ): Denial => ({
    code:
      command.kind === 'worker'
        ? 'WORKER_NOT_ALLOWED'
        : command.kind === 'signal'
          ? 'PROCESS_SIGNAL'
          : command.kind === 'addon'
            ? 'NATIVE_ADDON'
            : 'SHELL_NOT_ALLOWED',
    rule,
    what: `${BEGINNINGS[command.kind ?? 'program']} was not ${command.kind === 'signal' ? 'sent' : 'started'}: ${shown(command)}.`,
    why: `${why}.`,
    allowed: listed(vectors),
  }),
  shellString: (rule: string, command: Command, vectors: readonly ArgumentVector[]): Denial => ({
    code: 'SHELL_STRING',
    rule,
    what: `A shell was not started: ${shown(command)}.`,
    why: 'Text for a shell can contain any command, so it must be listed word for word.',
    allowed: `Start a program with its arguments: execFile(program, [arguments]). ${listed(vectors)}`,
  }),
  noSandbox: (rule: string, command: Command, why: string): Denial => ({
    code: 'SHELL_NO_SANDBOX',
    rule,
    what: `A program was not started: ${shown(command)}.`,
    why: `Without a sandbox, nothing limits a program whose arguments are not listed word for word, and ${why}.`,
    allowed: 'Install bubblewrap, or list these arguments without patterns.',
  }),
  environment: (
    rule: string,
    command: Command,
    how: string,
    settable: readonly string[],
  ): Denial => ({
    code: 'SHELL_ENVIRONMENT',
    rule,
    what: `A program was not started: ${shown(command)}, ${how}.`,
    why: 'Variables such as PATH, LD_PRELOAD or NODE_OPTIONS, and another user, change what a program does.',
    allowed:
      settable.length === 0
        ? 'Pass variables as they were when the guard was created, or list others in shell.env.'
        : `Pass variables as they were when the guard was created, or one of ${settable.join(', ')}.`,
  }),
  unseen: (tool: string, kind: 'worker' | 'addon', file: string): Denial => ({
    code: kind === 'worker' ? 'WORKER_NOT_ALLOWED' : 'NATIVE_ADDON',
    rule: 'guard/process',
    what: `Tool "${tool}" tried to ${kind === 'worker' ? 'start a worker' : 'load a native add-on'}: ${file}`,
    why: 'The scopes of a call do not apply inside it.',
    allowed: `${kind === 'worker' ? 'Do the work in the tool' : 'Load it before the call'}, or add shell: { allow: [['${kind}', '${file}']] } to a policy.`,
  }),
  scopeInvalid: (rule: string, vector: string, mistake: string): Denial => ({
    code: 'SHELL_SCOPE_INVALID',
    rule,
    what: `The argument vector ${JSON.stringify(vector)} cannot be used: ${mistake}.`,
    why: 'A vector names one program, then its arguments; only arguments may be patterns.',
    allowed: "Name the program: ['wc', '-l', '**'].",
  }),
}

const BEGINNINGS = {
  program: 'A program',
  worker: 'A worker',
  signal: 'A signal',
  addon: 'A native add-on',
}

const listed = (vectors: readonly ArgumentVector[]): string => {
  if (vectors.length === 0) return 'Nothing may be started.'
  const more = vectors.length - SHOWN_VECTORS
  const texts = vectors.slice(0, SHOWN_VECTORS).map(({ text }) => text)
  return `Allowed: ${texts.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`
}

function shown({ file, args }: Command): string {
  const text = [file, ...args]
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word)))
    .join(' ')
  return clipText(text, SHOWN_CHARACTERS)
}
