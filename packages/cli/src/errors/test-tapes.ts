import { RetakeError } from '@retake/engine/errors'
import { reason } from './reason.js'

export const testModeUnknown = (mode: string, modes: readonly string[]): RetakeError =>
  new RetakeError(
    'TEST_MODE_UNKNOWN',
    `"${mode}" is no mode for the tapes of tests.`,
    `There are ${modes.join(', ')}.`,
    'Set RETAKE_MODE, or the `mode` of the test, to one of them.',
  )

export const recordingLeftInTest = (): RetakeError =>
  new RetakeError(
    'TEST_RECORDS_IN_CI',
    'A test asks for its tape to be recorded, in CI.',
    'Its mode is `record`, probably left from the last recording; CI never touches the network unless RETAKE_MODE=record says so.',
    'Take the mode out of the test and commit the tape.',
  )

export const filesChanged = (lines: readonly string[]): RetakeError =>
  new RetakeError(
    'FILES_CHANGED',
    `Files that the recorded run read have changed: ${lines.join('; ')}.`,
    'The agent got their recorded content, so this test says nothing about them as they are now.',
    'Record the tape again, undo the change, or leave out `strictFiles`.',
  )

export const testTapeMissing = (file: string, where: string): RetakeError =>
  new RetakeError(
    'TEST_TAPE_MISSING',
    `There is no tape ${file}.`,
    `${where} nothing is recorded, so that no test reaches the network.`,
    'Run the test once on your machine, which records the tape, and commit it.',
  )

export const notAFunctionTape = (file: string, entry: string | undefined): RetakeError =>
  new RetakeError(
    'TEST_TAPE_OF_PROCESS',
    `The tape ${file} does not hold a function call.`,
    'It was recorded from a whole program, which only that program can replay.',
    entry === undefined
      ? 'Check it with `retake verify`, or record the test anew: RETAKE_MODE=record.'
      : `Name the program instead of a function, expect('${entry}').toReplay(…), or record the test anew: RETAKE_MODE=record.`,
  )

export const notAProgramTape = (file: string, program: string): RetakeError =>
  new RetakeError(
    'TEST_TAPE_OF_FUNCTION',
    `The tape ${file} does not hold a run of ${program}.`,
    'It was recorded from a function call, from another program, or from a command through the proxy.',
    'Hand the function to expect(), or record the program anew: RETAKE_MODE=record.',
  )

export const testTapeCutOff = (file: string): RetakeError =>
  new RetakeError(
    'TEST_TAPE_CUT_OFF',
    `The tape ${file} has no end.`,
    'Its recording was killed, so it is not known what the agent should come to.',
    'Record it anew: RETAKE_MODE=record.',
  )

export const recordedRunThrew = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'TEST_RECORDING_THREW',
    `The agent threw while it was recorded: ${reason(cause)}`,
    `A tape of a failure would make every later run fail, so ${file} was left as it was.`,
    'Mend what failed and run again. If the agent is meant to throw, say so: { throws: true }.',
    { cause },
  )

export const recordedProgramFailed = (file: string, how: string): RetakeError =>
  new RetakeError(
    'TEST_RECORDING_THREW',
    `The program failed while it was recorded: it ${how}.`,
    `A tape of a failure would make every later run fail, so ${file} was left as it was.`,
    'Mend what failed and run again. If the program is meant to fail, say so: { throws: true }.',
  )

export const notAnAgent = (what: string): RetakeError =>
  new RetakeError(
    'TEST_NOT_AN_AGENT',
    `toReplay was given ${what}.`,
    'It runs the agent itself, with the outside world played by the tape.',
    "Hand it a function that starts the agent, expect(() => agent('order 1182')), or the path of a program.",
  )

export const reportNotWritable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'REPORT_NOT_WRITABLE',
    `The report cannot be written to ${file}.`,
    `The system said: ${reason(cause)}.`,
    'Name another file with --junit.',
    { cause },
  )

export const vitestPoolUnsupported = (): RetakeError =>
  new RetakeError(
    'VITEST_POOL_UNSUPPORTED',
    'Retake cannot work in the pools vmThreads and vmForks of Vitest.',
    "They give test files copies of Node's own modules, which would be neither recorded nor replayed.",
    "Set pool: 'forks' or pool: 'threads'.",
  )
