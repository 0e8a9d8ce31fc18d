export { browserDoor } from './browser-door.js'
export { readTape } from './read-tape.js'
