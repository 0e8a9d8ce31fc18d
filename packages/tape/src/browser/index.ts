export { browserPlatform, readTape } from './browser-platform.js'
