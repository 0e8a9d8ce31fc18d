export { endById, endDescendants, endWithDescendants } from './end-processes.js'
