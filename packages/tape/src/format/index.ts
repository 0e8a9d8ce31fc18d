/**
 * The tape format: events, values, bodies, and everything needed to write and read them while
 * recording and replaying. Loads neither the read model nor providers nor edits.
 */
export * from '../guards/guard-facts.js'
export * from '../guards/guarded-calls.js'
export * from '../guards/guard-note.js'
export * from '../guards/guard-savings.js'
export * from '../http/http1.js'
export { TEXT_MEMBERS, textMembers } from '../secrets/text-members.js'
export { DESCRIBED_WORDS } from '../state/captured-state.js'
export { attempt } from './values/attempt.js'
export { Deadline } from './values/deadline.js'
export { firstIndex, pushTo } from './values/collections.js'
export {
  defined,
  filledText,
  isRecord,
  isViewableJson,
  parseJson,
  recordOf,
  textOf,
  withoutDepth,
  type JsonRecord,
  isTooDeep,
} from './values/json-shape.js'
export { keyPathText } from './values/key-path-text.js'
export { plainJson } from './values/plain-json.js'
export { type Random, seededRandom } from './values/seeded-random.js'
export * from './values/values.js'
export { joinBytes, utf8 } from './values/bytes.js'
export { clipText } from './values/clip-text.js'
export * from './environment-reads.js'
export * from './errors.js'
export * from './events.js'
export * from './file-functions.js'
export { hasPossibleSecret } from '../secrets/possible-secrets.js'
export { hasKeyShape, keyShapes, maskCutKey, maskKeys } from '../secrets/key-shapes.js'
export { KnownValues } from '../secrets/known-values.js'
export { looksGenerated, strengthOf } from '../secrets/named-secrets.js'
export { looksSecret, redactText } from '../secrets/redact-text.js'
export type { TapeStatus } from './layout.js'
export type { ByteSource, Sha256, TapePlatform } from './platform.js'
export type { SignatureCheck, SignatureState } from './seal.js'
export { Tape } from './tape.js'
export type { TapeLike } from './tape-like.js'
export { valueTexts } from './values/value-text.js'
export type { VerifyResult } from './verify.js'
