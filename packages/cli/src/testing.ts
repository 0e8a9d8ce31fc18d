/** The test kit: a scripted model server, and replays of programs. See docs/testing.md. */
export * from '@retake/engine/testing'
export { replayProgram } from '@retake/runner/tests'
export type { ReplayedProgram, ReplayProgramOptions } from '@retake/runner/tests'
