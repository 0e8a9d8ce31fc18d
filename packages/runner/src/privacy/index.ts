export {
  SECRET_RULES,
  type SecretFinding,
  filesToScan,
  ownSecrets,
  refuseSecrets,
  scanFile,
  secretsIn,
} from './find-secrets.js'
export { lineAt, type MaskedRange, type MaskedSource, maskSources } from './mask-sources.js'
export { maskFindings, maskStates } from './mask-states.js'
export { rewriteLineage, splitLike, streamsOf } from './mask.js'
export { PersonalData, type PersonalRules, withPseudonyms } from './find-personal-data.js'
export { redactRun, tapeLineage } from './redact-run.js'
export { originalOf, restoreOriginal, vaultOf, writeVault } from './vault.js'
export { scrubRun } from './scrub-run.js'
