import { RetakeError } from '@retake/engine/errors'
import { TapeError } from '@retake/tape/format'
import { CREDENTIALS_MISSING, WRONG_USAGE } from './exit-codes.js'
import { cutWidthOf, leadLines, painter } from './terminal.js'

export type ExplainedError = Pick<RetakeError, 'code' | 'what' | 'why' | 'fix'>

/** The texts of a Retake error; undefined for any other error. */
export function explain(error: RetakeError | TapeError): ExplainedError
export function explain(error: unknown): ExplainedError | undefined
export function explain(error: unknown): ExplainedError | undefined {
  if (!(error instanceof RetakeError || error instanceof TapeError)) return undefined
  const { code, what, why, fix } = error
  return { code, what, why, fix }
}

/** Like `explain`, but rethrows any other error. */
export function explainOrThrow(error: unknown): ExplainedError {
  const explained = explain(error)
  if (explained === undefined) throw error
  return explained
}

export function exitCodeOf(error: unknown): number {
  return (error instanceof RetakeError ? EXIT_CODES[error.code] : undefined) ?? 1
}

/** Four short lines, no stack trace. Wrapped only on a terminal, so that grep works elsewhere. */
export function errorLines({ code, what, why, fix }: ExplainedError): string {
  const paint = painter(process.stderr)
  const width = cutWidthOf(process.stderr)
  return [
    ...leadLines(`${paint('red', 'error')}  `, what, width),
    ...leadLines('  why  ', why, width),
    ...leadLines('  fix  ', fix, width),
    paint('dim', `  code ${code}`),
    '',
  ].join('\n')
}

const EXIT_CODES: Readonly<Record<string, number>> = {
  CREDENTIALS_MISSING,
  ...Object.fromEntries(
    [
      'UNKNOWN_COMMAND',
      'COMMAND_RENAMED',
      'WRONG_USAGE',
      'WRONG_STEP_COMMAND',
      'PAGE_NOT_FOUND',
      'EXPRESSION_INVALID',
      'REDACT_PATTERN_INVALID',
      'RUN_NOT_TRUSTED',
    ].map((code) => [code, WRONG_USAGE]),
  ),
}
