import { Tape } from '../tape.js'
import { browserDoor } from './browser-door.js'

/** Opens a tape that is in memory. The bytes must not be changed while it is in use. */
export const readTape = (bytes: Uint8Array, name = 'tape'): Tape =>
  Tape.open(
    browserDoor,
    { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) },
    name,
  )
