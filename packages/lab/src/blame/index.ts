export { blameRecorded, type BlameRunOptions } from './blame-recorded.js'
export {
  type CauseDetail,
  type FailureClass,
  type FindingsFile,
  type SearchedStep,
  writeFindings,
} from './findings.js'
export { type StoredFork, StoredForks } from './forks.js'
export { placeholders } from './read-search.js'
