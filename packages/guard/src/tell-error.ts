import { recordError, type RecordedError } from '@retake/tape'
import { findRefusal } from './bounds/find-refusal.js'
import type { GuardError } from './guard-error.js'
import { thrownError } from './thrown-error.js'

/** What became of a tool that threw: the refusal that made it throw, or its own error. */
export interface ToldError {
  readonly error: unknown
  readonly recorded: RecordedError
  readonly isRefusal: boolean
}

/** Reads what a tool threw, which may run code of the tool: call it within the tool's bounds. */
export function tellError(
  tool: string,
  thrown: unknown,
  blocked: readonly GuardError[],
): ToldError {
  const error = thrownError(tool, thrown)
  const refusal = findRefusal(error, blocked)
  return {
    error: refusal ?? error,
    recorded: recordError(refusal ?? error),
    isRefusal: refusal !== undefined,
  }
}
