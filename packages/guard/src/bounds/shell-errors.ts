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
    why: 'Text for a shell can hold any command; only one that is listed word for word is run.',
    allowed: `Start a program with its arguments: execFile(program, [arguments]). ${listed(vectors)}`,
  }),
  noSandbox: (rule: string, command: Command, why: string): Denial => ({
    code: 'SHELL_NO_SANDBOX',
    rule,
    what: `A program was not started: ${shown(command)}.`,
    why: `Without a sandbox nothing limits what a program does with arguments that were not listed word for word, and ${why}.`,
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
    why: 'Variables such as PATH, LD_PRELOAD, NODE_OPTIONS or GIT_SSH_COMMAND, or another user, make one program into another.',
    allowed:
      settable.length === 0
        ? 'Give it variables of this process, as they were when the guard was made; others are listed in shell.env.'
        : `Give it variables of this process, as they were when the guard was made, or one of ${settable.join(', ')}.`,
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
  addon: 'A native addon',
}

const listed = (vectors: readonly ArgumentVector[]): string => {
  if (vectors.length === 0) return 'Nothing may be started.'
  const more = vectors.length - SHOWN_VECTORS
  const texts = vectors.slice(0, SHOWN_VECTORS).map(({ text }) => text)
  return `May be started: ${texts.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`
}

function shown({ file, args }: Command): string {
  const text = [file, ...args]
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word)))
    .join(' ')
  return clipText(text, SHOWN_CHARACTERS)
}
