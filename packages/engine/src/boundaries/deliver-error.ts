import { recordError } from '@retake/tape/format'
import type { Operation } from '../sessions/session.js'
import type { EventEmitter } from 'node:events'

/** Reports an outside failure: as data to the tape, as the error itself to a recorded agent. */
export function deliverError(operation: Operation, error: unknown): void {
  operation.complete(
    { type: 'deliver', part: 'error', error: recordError(error) },
    undefined,
    error,
  )
}

/** Node's error for an aborted operation. */
export function abortError(signal: AbortSignal | undefined): Error {
  const error = new Error('The operation was aborted', { cause: signal?.reason })
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' })
}

/** Notifies the operation of a connection when its real counterpart fails or closes. */
export function reportEnding(real: EventEmitter, operation: Operation): void {
  real.on('close', () => operation.complete({ type: 'deliver', part: 'close' }))
  real.on('error', (error) => deliverError(operation, error))
}
