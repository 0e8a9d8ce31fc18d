export { checkPriced, confirmCost } from './confirm-cost.js'
export {
  FOUND,
  Interrupted,
  Interruption,
  NOT_TRIED,
  WRONG_USAGE,
  nextSignal,
  signalExitCode,
  stopRequest,
} from '../terminal/exit-codes.js'
export { generalHelp, verbHelp } from './help.js'
export { errorLines, exitCodeOf, explain, explainOrThrow } from '../terminal/print-error.js'
export { mostFrequent } from './most-frequent.js'
export { parseAge } from '../parse-age.js'
export {
  ALLOW_SECRETS_OPTION,
  DIR_OPTION,
  DURABILITY_OPTION,
  NODE_OPTION,
  NODE_PROGRAM_OPTIONS,
  type Options,
  PORT,
  PROGRAM_OPTIONS,
  REDACT_OPTION,
  type Verb,
  ownArguments,
  parseChoice,
  parseVerb,
  usageError,
} from './verb.js'
export { type ApprovalTexts, type EndedVerb, loadViewerParts, offers } from './offers.js'
export { writeReport } from './write-report.js'
export type {
  BodyField,
  RunFindings,
  ViewedRuns,
  ViewerPart,
  ViewerRequest,
  ViewerRoute,
} from './viewer-part.js'
export { findVerb, partsOf, type VerbTable } from './find-verb.js'
