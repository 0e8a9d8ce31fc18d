/** Loaded by a run of `record()` and by a recorded child process to store their code. */
export { storeCodeOfChild, storeCodeOfFunction } from './sources/store-code.js'
