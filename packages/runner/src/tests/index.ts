export {
  type ReplayProgramOptions,
  type ReplayedProgram,
  type UseTape,
  replayProgram,
  tapeFunction,
  toReplay,
} from './to-replay.js'
export { type TapeMode, type UseTapeOptions, chooseMode, isCi } from './use-tape.js'
export { RUNNERS, runnerOfProject, tapeCopies, testedCall, writeTest } from './write-test.js'
