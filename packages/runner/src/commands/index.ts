export {
  type CommandRecording,
  type CommandRecordingOptions,
  recordCommand,
  recordThroughProxy,
} from './record-command.js'
export { replayCommandRun } from './replay-recorded-command.js'
