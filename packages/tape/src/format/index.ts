/**
 * The tape format: events, values, bodies, and everything needed to write and read them while
 * recording and replaying. Imports nothing outside this folder.
 */
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
export { fromWire, rebuildError, type ErrorClass, type ErrorClasses } from './values/from-wire.js'
export { stableStringify, wireEqual } from './values/stable-stringify.js'
export { recordError, toWire, type ToWireOptions } from './values/to-wire.js'
export { sourceListProblem } from './check-records.js'
export { decodeBody, decodeJson, encodeBody } from './event-body.js'
export { joinBytes, utf8 } from './values/bytes.js'
export { clipText } from './values/clip-text.js'
export * from './environment-reads.js'
export * from './errors.js'
export * from './events.js'
export * from './file-functions.js'
export type { TapeStatus } from './layout.js'
export type { ByteSource, Sha256, TapePlatform } from './platform.js'
export type { SignatureCheck, SignatureState } from './seal.js'
export { Tape } from './tape.js'
export type { TapeLike } from './tape-like.js'
export { valueTexts } from './values/value-text.js'
export type { VerifyResult } from './verify.js'
