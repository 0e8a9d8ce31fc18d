import { RetakeError } from '@retake/engine/errors'
import { TapeError } from '@retake/tape'
import { CredentialsError } from '../errors/branches.js'
import { UsageError } from '../errors/command-line.js'
import { RunNotTrusted } from '../errors/trust.js'
import { CREDENTIALS_MISSING, WRONG_USAGE } from './exit-codes.js'
import { painter, widthOf, wrap } from '../terminal/terminal.js'

/** The four things every error of Retake can say. */
export interface Explained {
  readonly code: string
  readonly what: string
  readonly why: string
  readonly fix: string
}

/** What an error has to say; undefined when it is not one of ours. */
export function explain(error: unknown): Explained | undefined {
  if (!(error instanceof RetakeError || error instanceof TapeError)) return undefined
  const { code, what, why, fix } = error
  return { code, what, why, fix }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof RunNotTrusted) return WRONG_USAGE
  return error instanceof CredentialsError ? CREDENTIALS_MISSING : 1
}

/** Four short lines, no stack trace; broken to fit only on a terminal, so that elsewhere grep finds them. */
export function errorLines({ code, what, why, fix }: Explained): string {
  const paint = painter(process.stderr)
  const width = process.stderr.isTTY ? widthOf(process.stderr) - LABEL : Infinity
  const labelled = (label: string, text: string): string[] =>
    wrap(text, width).map((line, index) => (index === 0 ? label : ' '.repeat(LABEL)) + line)
  return [
    ...labelled(`${paint('red', 'error')}  `, what),
    ...labelled('  why  ', why),
    ...labelled('  fix  ', fix),
    paint('dim', `  code ${code}`),
    '',
  ].join('\n')
}

const LABEL = 'error  '.length
