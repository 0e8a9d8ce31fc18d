import { isErrorLike, recordThrown } from './error-fields.js'
import type { RecordedError } from '../format/events.js'
import { fromWire } from './from-wire.js'
import { rebuildErrorWith, type ErrorClasses } from './rebuild-error.js'
import { WireEncoder } from './to-wire.js'

/**
 * Records a thrown value: class name, name, message, stack, own enumerable properties in order,
 * causes and members. A value that is not an error is stored in `thrown`. Not recorded: private
 * state, accessors of the class, and properties beyond a size that no error should have.
 */
export const recordError = (thrown: unknown): RecordedError => {
  const encoder = new WireEncoder()
  return isErrorLike(thrown)
    ? (encoder.encode(thrown) as { v: RecordedError }).v
    : recordThrown(encoder, thrown)
}

/**
 * Rebuilds a recorded error, or returns the thrown value if it was not an error. Built-in classes
 * are the real ones; `classes` supplies others by name, without running their constructors; any
 * other name gets a new class.
 */
export const rebuildError = (recorded: RecordedError, classes?: ErrorClasses): unknown =>
  rebuildErrorWith(fromWire, recorded, classes)

export type { ErrorClass, ErrorClasses } from './rebuild-error.js'
