export {
  type BranchFacts,
  type BranchNode,
  type OwnNode,
  branchFacts,
  branchLines,
  branchTree,
  changeText,
  howText,
  readBranchRun,
  readNode,
  spentTokens,
  stepBranchLines,
} from './branch-tree.js'
export { type TapeStamp, stampOf } from './run-index.js'
export {
  RunStore,
  comparisonFolderOf,
  fixFolderOf,
  fixPathOf,
  folderBesideRuns,
  isAlive,
  isCutOff,
  isMarkedAlive,
  isRecording,
  markRecording,
  readIfPresent,
} from './run-store.js'
export {
  type LocalRunRow,
  type RunSummary,
  checkTape,
  indexedSummary,
  inputText,
  statusOf,
  summarizeRun,
  summarizeRuns,
} from './run-summary.js'
export { changeTags, tagsFileOf, tagsOf } from './run-tags.js'
export { stateWord, stepJson, stepLines } from './step-lines.js'
export { findStep, readOptions, stepAt, viewRun } from './view-run.js'
export { blameFiles, blameFolder, findingsPath } from './blame-files.js'

export { storedBlame } from './stored-blame.js'
