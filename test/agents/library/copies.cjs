// Functions that CommonJS programs and packages copy when they are loaded. Each export gives a
// value that differs from one call to the next, or from `before` to `after`.
const { execFile, execFileSync, spawnSync } = require('node:child_process')
const { randomBytes, randomFillSync, randomInt, randomUUID } = require('node:crypto')
const dns = require('node:dns')
const fs = require('node:fs')
const { createReadStream, existsSync, readFileSync, statSync } = require('node:fs')
const { readFile } = require('node:fs/promises')
const { freemem, uptime } = require('node:os')
const { setTimeout: sleep } = require('node:timers/promises')
const { promisify } = require('node:util')
const { Worker } = require('node:worker_threads')

const { env, hrtime } = process
const bigint = process.hrtime.bigint.bind(process.hrtime)
const { now } = Date
const CopiedDate = Date
class OwnDate extends Date {}
const { random } = Math
const performanceNow = performance.now.bind(performance)
const webUuid = globalThis.crypto.randomUUID.bind(globalThis.crypto)
const {
  setTimeout: setTimer,
  setInterval: setTicker,
  setImmediate: setSoon,
  clearInterval,
} = globalThis
const later = promisify(setTimeout)
const write = process.stdout.write.bind(process.stdout)
const { writeSync } = fs
const copiedFetch = globalThis.fetch
const promisedRead = promisify(fs.readFile)
const promisedExec = promisify(execFile)
const promisedLookup = promisify(dns.lookup)
const { AbortController: Controller } = globalThis

const print = ['-p', 'process.hrtime.bigint().toString()']
const node = process.execPath

module.exports = {
  'crypto.randomUUID': () => randomUUID(),
  'crypto.randomBytes': () => randomBytes(8).toString('hex'),
  'crypto.randomFillSync': () => randomFillSync(Buffer.alloc(8)).toString('hex'),
  'crypto.randomInt': () => randomInt(2 ** 40),
  'globalThis.crypto.randomUUID, bound': () => webUuid(),
  'Math.random': () => random(),
  'Date.now': () => [now(), new CopiedDate().getTime(), new OwnDate().getTime()],
  'performance.now': () => performanceNow(),
  'process.hrtime': () => [hrtime(), String(bigint())],
  'os.freemem': () => [freemem(), uptime()],
  'process.env': () => env.RETAKE_COPY_TEST ?? env.COPY_TEST,
  'fs.readFileSync': () => [readFileSync('note.txt', 'utf8'), existsSync('other.txt')],
  'fs.statSync': () => statSync('note.txt').size,
  'fs/promises readFile': () => readFile('note.txt', 'utf8'),
  'fs.readFile, promisified': () => promisedRead('note.txt', 'utf8'),
  'fs.createReadStream': async () =>
    Buffer.concat(await createReadStream('note.txt').toArray()).toString(),
  'child_process.execFileSync': () => execFileSync(node, print, { encoding: 'utf8' }),
  'child_process.spawnSync': () => spawnSync(node, print, { encoding: 'utf8' }).stdout,
  'child_process.execFile, promisified': async () => (await promisedExec(node, print)).stdout,
  'dns.lookup, promisified': () => promisedLookup('localhost'),
  Worker: () =>
    new Promise((resolve) =>
      new Worker(
        'require("worker_threads").parentPort.postMessage(String(process.hrtime.bigint()))',
        { eval: true },
      ).once('message', resolve),
    ),
  setTimeout: () => new Promise((resolve) => setTimer(resolve, 20, 'late')),
  setInterval: () =>
    new Promise((resolve) => {
      const ticker = setTicker(() => resolve(clearInterval(ticker)), 20)
    }),
  setImmediate: () => new Promise((resolve) => setSoon(resolve, 'soon')),
  'setTimeout, promisified': () => later(20, 'late'),
  'timers/promises setTimeout': () => sleep(20, 'late'),
  'process.stdout.write': () => write('written\n'),
  'fs.writeSync': () => writeSync(1, 'written\n'),
  fetch: async (base) => (await copiedFetch(base)).json(),
  AbortController: async (base) => {
    const { signal } = new Controller()
    return (await copiedFetch(base, { signal })).json()
  },
}
