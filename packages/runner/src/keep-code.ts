/** What a run of `record()` and a recorded child process load to store their code. */
export { keepCodeOfChild, keepCodeOfFunction } from './sources/keep-code.js'
