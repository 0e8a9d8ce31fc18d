/**
 * Names, folders and trust of runs, and the variables that pass a task to an agent process. For the
 * command line, which starts such processes: nothing here loads the recorder.
 */
export { isSurrounding, loadsCode, withSurroundings } from '../environment.js'
export {
  ed25519Key,
  KEY_PURPOSES,
  keyFileOf,
  type KeyPurpose,
  ownKey,
  ownOrNewKey,
  publicKeyText,
  sealKeyFor,
  storeKey,
} from '../secrets/signing-key.js'
export { isSecretHeader } from '../kernel/headers.js'
export { maskUrl } from '../headers.js'
export { PRELOADS_VARIABLE, TASK_VARIABLE } from '../plans/process-task.js'
export { closestName } from '../closest-name.js'
export { checkIntact, refuseImported } from './open-for-replay.js'
export { requireNode } from './require-node.js'
export { isTag, newRunId, RUN_FILE } from './run-id.js'
export { childReportPath, childrenFolder, childTapePath, prepareRunsFolder } from './runs-folder.js'
export { isTrustedRun, trustRecording, trustRun, trustedRunsFile } from './trusted-runs.js'
export { failedPatterns, findValues, howFailed, personalValues } from '../secrets/find-values.js'
export {
  BUILT_IN,
  declareRuleFile,
  type Pattern,
  readNames,
  readPatterns,
  type RedactRule,
  ruleTexts,
} from '../secrets/redaction-rules.js'
export { isStructural, redactionOf, revealedTape } from '../secrets/redacted-tape.js'
export { textsInBase64 } from '../secrets/redactor.js'
export { VaultKey } from '../secrets/vault-key.js'
export { unreadableFrom } from '../secrets/compressed-bytes.js'
export { rememberHidden, withoutHidden } from '../secrets/hidden-values.js'
export { containsSecret, PLACEHOLDER, placeholderFor, SecretMask } from '../secrets/secrets.js'
export { maskModelText } from '../secrets/stream-mask.js'
