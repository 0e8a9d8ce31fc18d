/** The line after a recording. Loads the code that reads tapes, so it is loaded while the agent runs. */
export { recordingFacts, recordingJson, recordingLine } from './agent/recording-summary.js'
