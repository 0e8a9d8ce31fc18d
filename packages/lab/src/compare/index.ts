export { type LiveTrial, StoredTrials, readTrialTable, writeTrialTable } from './live-trials.js'
