/**
 * For packages built on the engine, such as the guard: the check that boundaries consult, patches
 * above those of the recorder, and the parts of a run that such a package uses. Not promised:
 * stability between versions.
 */
export type { BoundaryCheck, FileCall, SpawnOptions } from '../kernel/boundary-check.js'
export { isNodesOwn } from '../boundaries/files/file-wrapper.js'
export { install, installAbove } from '../boundaries/install.js'
export type { FetchInput } from '../kernel/boundary-check.js'
export { onVariableRead } from '../boundaries/environment.js'
export { isRequest } from '../boundaries/network/fetch.js'
export {
  dressLike,
  lookFirst,
  replace,
  replaceClass,
  undoAll,
  type Undo,
} from '../boundaries/patching/patch.js'
export { addOwnPackage, callers, callSite } from '../kernel/call-site.js'
export { closestName } from '../closest-name.js'
export { RetakeError } from '../errors.js'
export { natives } from '../kernel/natives.js'
export { beforeContact } from '../boundaries/patching/outside-contact.js'
export { disk } from '../overlay/disk.js'
export { flagBits, opensForWriting, opensNew, opensToRead } from '../overlay/open-flags.js'
export { overlayOf } from '../overlay/overlay.js'
export { openRecording, type RecordedRun } from '../library/record.js'
export {
  bindCheck,
  currentCheck,
  currentContext,
  currentSession,
  insideContext,
  insideTool,
  isOwnWork,
  outsideRuns,
  type RunContext,
  toolOwner,
} from '../kernel/scope.js'
export { isRedactRule, type RedactRule } from '../secrets/redaction-rules.js'
export { isStructural, redactionOf, revealedTape } from '../secrets/redacted-tape.js'
export type { Redactor } from '../secrets/redactor.js'
export { containsSecret, looksSecret, SecretMask } from '../secrets/secrets.js'
export { maskModelText } from '../secrets/stream-mask.js'
export type { RecordSession, RunEnd } from '../kernel/record-session.js'
export {
  EMPTY,
  Operation,
  type Action,
  type Delivery,
  type NewDelivery,
  type Recording,
  type Session,
} from '../kernel/session.js'
export type { Mask } from '../kernel/mask.js'
export { ownOrNewKey, ownPublicKey } from '../secrets/signing-key.js'
export { stateFolder } from '../secrets/machine-key.js'
