import { Tape } from '../tape.js'
import { openFileSource } from './file-source.js'
import { nodeDoor } from './node-door.js'

/**
 * Opens a tape for reading. A tape that is still being written can be opened:
 * it shows the events that were whole at this moment. Throws `TapeError`.
 */
export const openTape = (path: string): Tape => Tape.open(nodeDoor, openFileSource(path), path)
