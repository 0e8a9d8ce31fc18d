export { DigestManifest } from './digest-manifest.js'
export {
  type JunitCase,
  type ProofVerdict,
  annotations,
  appendSummary,
  isGithub,
  junitReport,
  markdownCode,
  markdownTable,
  markdownText,
  summaryOf,
  verdictOf,
  xmlAttribute,
  xmlText,
} from './verdict.js'
export { type VerifiedTape, verifyRecordedTape } from './verify-tape.js'
export { tapesOf, writeOrReport } from './tapes-of.js'
