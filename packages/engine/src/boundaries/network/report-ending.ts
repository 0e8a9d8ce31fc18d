import type { EventEmitter } from 'node:events'
import type { Operation } from '../../sessions/session.js'
import { deliverError } from '../deliver-error.js'

/** Tells the operation of a connection when its real counterpart fails, and when it is gone. */
export function reportEnding(real: EventEmitter, operation: Operation): void {
  real.on('close', () => operation.complete({ type: 'deliver', part: 'close' }))
  real.on('error', (error) => deliverError(operation, error))
}
