import { RetakeError } from '@retake/engine'
import { TapeError } from '@retake/tape'
import { UsageError } from './errors.js'
import { WRONG_USAGE } from './exit-codes.js'
import { painter } from './terminal.js'

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

export const exitCodeOf = (error: unknown): number =>
  error instanceof UsageError ? WRONG_USAGE : 1

/** Four short lines, no stack trace. */
export function errorLines({ code, what, why, fix }: Explained): string {
  const paint = painter(process.stderr)
  return [
    `${paint('red', 'error')} ${what}`,
    `  why  ${why}`,
    `  fix  ${fix}`,
    paint('dim', `  code ${code}`),
    '',
  ].join('\n')
}
