import { recordError } from '@retake/tape/format'
import type { Operation } from '../sessions/session.js'
import type { EventEmitter } from 'node:events'

/** Reports an outside failure: as data for the tape, as the error itself for a recorded agent. */
export function deliverError(operation: Operation, error: unknown): void {
  operation.complete(
    { type: 'deliver', part: 'error', error: recordError(error) },
    undefined,
    error,
  )
}

/** The error of Node for an operation that was aborted. */
export function abortError(signal: AbortSignal | undefined): Error {
  const error = new Error('The operation was aborted', { cause: signal?.reason })
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' })
}

/** Tells the operation of a connection when its real counterpart fails, and when it is gone. */
export function reportEnding(real: EventEmitter, operation: Operation): void {
  real.on('close', () => operation.complete({ type: 'deliver', part: 'close' }))
  real.on('error', (error) => deliverError(operation, error))
}
