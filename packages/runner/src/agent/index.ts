export { type Launch, TaskProcess, hasTypeScriptLoader, ownPreloadLines } from './agent-process.js'
export {
  type ChangedFile,
  changedFileLines,
  changedFiles,
  firstTouchOf,
  projectRoot,
  recordedRoot,
} from './changed-files.js'
export {
  CONTINUE_OPTIONS,
  type Continued,
  checkContinuable,
  continueAgent,
  continueVerb,
  continuedFacts,
  continuedLines,
  endTape,
} from './continue-agent.js'
export { divergenceReport, notCapturedDetail, notCapturedLines } from './divergence.js'
export { forwardTo } from './forward-sockets.js'
export { shellWord } from '../terminal/shell-word.js'
export {
  type Replayed,
  refuseProxyRun,
  replayAgent,
  replayReceipt,
  startOf,
} from './replay-agent.js'
export { type ShellCommandEnd, runShellCommand } from './run-command.js'
export {
  changedSources,
  readCode,
  entryOf,
  fileHere,
  hashOfCode,
  movedHere,
  sourceFiles,
  warnOfChangedSources,
  whyNotRunAgain,
} from '../sources/source-code.js'
export {
  promptForTrust,
  rememberTrust,
  requireTrust,
  startLine,
  trustEverything,
  trustInThisProcess,
} from './trust.js'

export { inFolder } from './plan-in-folder.js'
