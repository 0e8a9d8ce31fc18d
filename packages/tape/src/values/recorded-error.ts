import { isErrorLike, recordThrown } from './error-fields.js'
import type { RecordedError } from '../format/events.js'
import { fromWire } from './from-wire.js'
import { rebuildErrorWith, type ErrorClasses } from './rebuild-error.js'
import { WireEncoder } from './to-wire.js'

/**
 * A thrown value as it is recorded. Keeps class name, name, message, stack,
 * own enumerable properties in their order, causes and members; a value that
 * is not an error is kept in `thrown`. Not kept: private state, accessors of the
 * class, and properties beyond a size no error should have.
 */
export const recordError = (thrown: unknown): RecordedError => {
  const encoder = new WireEncoder()
  return isErrorLike(thrown)
    ? (encoder.encode(thrown) as { v: RecordedError }).v
    : recordThrown(encoder, thrown)
}

/**
 * Builds the error that was recorded, or gives back the value that was thrown
 * when it was no error. Built-in classes are the real ones; `classes` supplies
 * others by name, without running their constructors; any other name gets a
 * class made for it.
 */
export const rebuildError = (recorded: RecordedError, classes?: ErrorClasses): unknown =>
  rebuildErrorWith(fromWire, recorded, classes)

export type { ErrorClass, ErrorClasses } from './rebuild-error.js'
