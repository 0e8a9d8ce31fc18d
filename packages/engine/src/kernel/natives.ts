import crypto from 'node:crypto'
import timers from 'node:timers'

/**
 * The functions of this Node before any patch. Retake's own code uses these instead of the globals,
 * so that it never records itself.
 */
export const natives = {
  /** The real environment, read without being recorded. */
  env: process.env,
  Date,
  dateNow: Date.now,
  performanceNow: performance.now.bind(performance),
  hrtimeBigint: process.hrtime.bigint.bind(process.hrtime),
  random: Math.random,
  randomUUID: crypto.randomUUID.bind(crypto),
  randomBytes: crypto.randomBytes.bind(crypto) as (size: number) => Buffer,
  fetch: globalThis.fetch,
  setTimeout: timers.setTimeout,
  clearTimeout: timers.clearTimeout,
  setInterval: timers.setInterval,
  clearInterval: timers.clearInterval,
  setImmediate: timers.setImmediate,
  clearImmediate: timers.clearImmediate,
  queueMicrotask: globalThis.queueMicrotask,
  nextTick: process.nextTick.bind(process),
  FinalizationRegistry: globalThis.FinalizationRegistry,
  stdoutWrite: (bytes: Uint8Array): void => void stdWrite.stdout(bytes),
  stderrWrite: (bytes: Uint8Array): void => void stdWrite.stderr(bytes),
} as const

/** Filled on first use, because touching `process.stdout` opens it. */
const stdWrite = {
  stdout: (bytes: Uint8Array) => process.stdout.write(bytes),
  stderr: (bytes: Uint8Array) => process.stderr.write(bytes),
}

/** Remembers how to write to the real streams before the output boundary replaces them. */
export function registerNativeOutput(
  stream: 'stdout' | 'stderr',
  write: (bytes: Uint8Array) => boolean,
): void {
  stdWrite[stream] = write
}
