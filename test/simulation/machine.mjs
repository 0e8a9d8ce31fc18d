import crypto from 'node:crypto'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import { Disk, mount, ROOT } from './disk.mjs'
import { EventLoop } from './event-loop.mjs'
import { Seeded } from './seeded.mjs'

const EPOCH_MS = Date.UTC(2026, 0, 1)

/**
 * The simulated machine that Retake runs on: event loop, clocks, random numbers, disk and
 * network. Retake takes these functions when it loads, so it is imported after this module.
 */
export const loop = new EventLoop()
let disk = new Disk()
let random = new Seeded(0)
let world

export const current = {
  get disk() {
    return disk
  },
  get world() {
    return world
  },
}

/** A machine with an empty disk. */
export function installMachine(seed) {
  disk = new Disk()
  startProcess(seed)
}

/** A process starts on this machine: its clocks and random numbers follow from the seed. */
export function startProcess(seed) {
  forgetRunIds(seed)
  random = new Seeded(seed)
  syncs = 0
  loop.clear()
  loop.nowMs = 0
  // A killed process has no writers any more.
  for (const writer of writers) {
    try {
      writer.close()
    } catch {
      // Its file was closed with the process.
    }
  }
  writers.clear()
}

/** Processes remember the run ids of the current second. The new one knows none, so it is another second. */
function forgetRunIds(seed) {
  random = new Seeded(seed)
  loop.nowMs = -1000
  newRunId()
}

/** Connects the machine to an outside world. */
export function connect(outside) {
  world = outside
  return outside
}

/** The folder for tapes. */
export const RUNS = `${ROOT}/runs`

const NativeDate = Date
NativeDate.now = () => Math.floor(EPOCH_MS + loop.read())
performance.now = () => loop.read()
process.hrtime.bigint = () => BigInt(Math.round(loop.read() * 1e6))
Math.random = () => random.next()
crypto.randomBytes = (size) => random.bytes(size)
crypto.randomUUID = () => {
  const hex = random.bytes(16).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}
globalThis.fetch = (...args) => world.fetch(...args)
for (const name of ['setTimeout', 'setInterval', 'setImmediate']) {
  timers[name] = loop[name]
  globalThis[name] = loop[name]
}
for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) {
  timers[name] = loop.clearEntry
  globalThis[name] = loop.clearEntry
}
process.on('unhandledRejection', (error) => loop.fail(error))
let syncs = 0
mount(
  () => disk,
  (callback) => loop.setTimeout(callback, 1 + (syncs++ % 4)),
)
const { readFileSync } = fs
const processFacts = new Map()
fs.readFileSync = (file, ...args) => {
  if (typeof file !== 'string') return readFileSync(file, ...args)
  if (file.startsWith(`${ROOT}/facts/`)) return world.lookUp(file)
  if (!file.startsWith('/proc/')) return readFileSync(file, ...args)
  if (!processFacts.has(file)) processFacts.set(file, readFileSync(file, ...args))
  return processFacts.get(file)
}
// Each session looks for secrets among the variables.
for (const name of Object.keys(process.env)) if (name !== 'HOME') delete process.env[name]
syncBuiltinESMExports()

export const retake = await import('@retake/engine')
export const { findDoubts } = await import('@retake/engine/plans')
const { openTape, TapeWriter } = await import('@retake/tape/node')
export { openTape }
const writers = new Set()
for (const name of ['create', 'reopen']) {
  const native = TapeWriter[name]
  TapeWriter[name] = (...args) => {
    const writer = native.apply(TapeWriter, args)
    writers.add(writer)
    return writer
  }
}
const { newRunId } = await import('../../packages/engine/dist/runs/run-id.js')
export const { readRun } = await import('@retake/tape')
