import { types } from 'node:util'
import { clipText, fromWire, rebuildError, toWire, type RecordedError } from '@retake/tape'
import { eventError } from './bounds/event-error.js'
import { GuardError } from './guard-error.js'
import { guardErrors } from './guard-errors.js'

/** What a tool threw, as an error: callers look for a message and a code. Never throws. */
export function thrownError(tool: string, thrown: unknown): unknown {
  try {
    if (thrown instanceof Error || types.isNativeError(thrown)) return thrown
    // As the tape will hold it, so that a replay sees the same.
    const cause = eventError(thrown) ?? fromWire(toWire(thrown))
    return new GuardError(guardErrors.threwNoError(tool, describe(thrown)), { cause })
  } catch {
    return new GuardError(guardErrors.threwNoError(tool, 'something unreadable'))
  }
}

/** What a tool itself threw, of an error as it was recorded: in one that the guard made of it, the cause. */
export function thrownIn(recorded: RecordedError): unknown {
  const error = rebuildError(recorded, { GuardError })
  return error instanceof GuardError ? error.cause : error
}

const SHOWN_CHARACTERS = 80

const describe = (thrown: unknown): string => {
  if (typeof thrown !== 'string') return thrown === null ? 'null' : `a value (${typeof thrown})`
  return `the text ${JSON.stringify(clipText(thrown, SHOWN_CHARACTERS))}`
}
