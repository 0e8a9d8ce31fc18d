import { shellWord } from '../terminal/shell-word.js'
import {
  isTrustedRun,
  loadsCode,
  refuseImported,
  trustRun,
  trustedRunsFile,
} from '@retake/engine/runs'
import type { Tape } from '@retake/tape'
import { promptOnTerminal, painter, printableLine } from '../terminal/terminal.js'
import { cliErrors, RunNotTrusted } from '../errors.js'

/** Digests of runs that this process may start, besides those recorded here. */
const granted = new Set<string>()
let isEverythingGranted = false

/** For `--trust`: this process may start the programs of the given tapes. Stores nothing. */
export function trustEverything(): void {
  isEverythingGranted = true
}

/** For a run that this process recorded, or whose program the calling code names. */
export function trustInThisProcess(tape: Tape): void {
  granted.add(tape.startDigest)
}

/**
 * A tape names a program to start, and giving somebody a tape must not be a way to run code on
 * their machine. So every start of a recorded program is checked here. Throws `RUN_NOT_TRUSTED`.
 */
export function requireTrust(tape: Tape): void {
  refuseImported(tape)
  if (startLine(tape) === '') return
  if (isEverythingGranted || granted.has(tape.startDigest) || isTrustedRun(tape)) return
  throw new RunNotTrusted(tape, startLine(tape))
}

export function rememberTrust(tape: Tape): void {
  refuseImported(tape)
  try {
    trustRun(tape)
  } catch (error) {
    throw cliErrors.TRUST_NOT_SAVED(trustedRunsFile(), error)
  }
}

/** Prompts before starting a program, and remembers a yes. Without a terminal: no. */
export async function promptForTrust(refused: RunNotTrusted): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false
  const { tape, what, startLine: line } = refused
  const paint = painter(process.stderr)
  process.stderr.write(`${paint('yellow', 'not trusted')} ${what}\n  ${line}\n`)
  const isAllowed = await promptOnTerminal(async (prompt) => {
    for (;;) {
      const said = await prompt('  Start it, now and later? [y]es or [n]o: ')
      if (/^[yn]/i.test(said)) return /^y/i.test(said)
    }
  })
  if (!isAllowed) return false
  trustInThisProcess(tape)
  rememberTrust(tape)
  return true
}

/** The command line of a recorded program, safe to print; empty if the tape names no program. */
export function startLine({ details }: Tape): string {
  const { command, entry, args = [], execArgv = [], env = {}, cwd, proxy } = details
  const variables = Object.entries(env)
    .filter(([name, value]) => value !== '' && loadsCode(name))
    .map(([name, value]) => `${name}=${quoted(value)}`)
  const program = command ?? (entry === undefined ? [] : ['node', ...execArgv, entry, ...args])
  const matchers = (proxy?.matchers ?? []).filter((name) => /[./\\]/.test(name))
  if (program.length === 0 && matchers.length === 0) return ''
  return [
    ...variables,
    ...program.map(quoted),
    ...(matchers.length > 0 ? [`(loads ${matchers.map(quoted).join(', ')})`] : []),
    ...(cwd === undefined ? [] : [`(in ${quoted(cwd)})`]),
  ].join(' ')
}

const quoted = (text: string): string => shellWord(printableLine(text))
