export { nodeDoor } from './node-door.js'
export { openFileSource } from './file-source.js'
export { openTape } from './open-tape.js'
export { TapeWriter, type TapeWriterOptions } from './tape-writer.js'
