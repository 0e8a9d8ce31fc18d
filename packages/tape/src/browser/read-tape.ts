import { Tape, type TapeOptions } from '../format/tape.js'
import { browserPlatform } from './browser-platform.js'

/**
 * Opens a tape in memory. The bytes must not change while it is in use. For a branch, only its own
 * events can be read unless its parent is passed in.
 */
export const readTape = (
  bytes: Uint8Array,
  name = 'tape',
  options: Pick<TapeOptions, 'parent'> = {},
): Tape =>
  Tape.open(
    browserPlatform,
    { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) },
    name,
    options,
  )
