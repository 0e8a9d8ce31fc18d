export { browserPlatform } from './browser-platform.js'
export { readTape } from './read-tape.js'
