/**
 * `@retake/engine` inside a Jest test that runs in `retake/jest-environment`: the
 * one engine that lives outside. Only that environment resolves to this file.
 */
module.exports = globalThis[Symbol.for('retake.jest')].engine
