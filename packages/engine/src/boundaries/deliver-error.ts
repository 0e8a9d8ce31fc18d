import { recordError } from '@retake/tape/format'
import type { Operation } from '../sessions/session.js'

/** What went wrong outside, for the tape as data; the agent, while it is recorded, gets the very error. */
export function deliverError(operation: Operation, error: unknown): void {
  operation.complete(
    { type: 'deliver', part: 'error', error: recordError(error) },
    undefined,
    error,
  )
}
