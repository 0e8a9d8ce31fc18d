/** What a run of `record()` and a recorded child process load to store their code. */
export { storeCodeOfChild, storeCodeOfFunction } from './sources/store-code.js'
