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
} from './exit-codes.js'
export { generalHelp, verbHelp } from './help.js'
export { errorLines, exitCodeOf, explain, explainOrThrow } from './print-error.js'
export { mostFrequent, parseAge } from './quantities.js'
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
export { findCommand, partsOf, type VerbTable } from './verb-table.js'
