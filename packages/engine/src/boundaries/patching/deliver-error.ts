import { recordError } from '@retake/tape/format'
import type { Operation } from '../../kernel/session.js'
import type { EventEmitter } from 'node:events'

/** Reports an outside failure: as data to the tape, and as the error itself to the recorded agent. */
export function deliverError(operation: Operation, error: unknown): void {
  operation.complete(
    { type: 'deliver', part: 'error', error: recordError(error) },
    undefined,
    error,
  )
}

export function abortError(signal: AbortSignal | undefined): Error {
  const error = new Error('The operation was aborted', { cause: signal?.reason })
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' })
}

/** Reports to a connection's operation when its real counterpart fails or closes. */
export function reportEnding(real: EventEmitter, operation: Operation): void {
  real.on('close', () => operation.complete({ type: 'deliver', part: 'close' }))
  real.on('error', (error) => deliverError(operation, error))
}
