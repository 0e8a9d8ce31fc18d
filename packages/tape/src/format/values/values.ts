/**
 * Wire values: any JavaScript value as plain JSON and back.
 *
 * A value that JSON cannot express becomes an object with the key `$`, for example
 * `{"$":"bigint","v":"12"}`; an object that has its own `$` key is wrapped in
 * `{"$":"object","v":…}`. Not promised: identity (a value that occurs twice is stored twice), holes
 * in arrays (they become `undefined`), extra properties on arrays. Cycles, functions and prototypes
 * cannot be stored and are reported through `onLoss`.
 */
export { decodeBody, decodeJson, encodeBody } from '../event-body.js'
export { fromWire, rebuildError, type ErrorClass, type ErrorClasses } from './from-wire.js'
export { stableStringify, wireEqual } from './stable-stringify.js'
export { recordError, toWire, type ToWireOptions } from './to-wire.js'
