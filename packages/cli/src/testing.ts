/** The test kit: a scripted model server, and replays of programs. See docs/testing.md. */
export * from '@retake/engine/testing'
export { replayProgram } from './test-runners/to-replay.js'
export type { ReplayedProgram, ReplayProgramOptions } from './test-runners/to-replay.js'
