// An agent that asks for time, chance and the machine in every form, and waits in every form.
import nodeCrypto, { randomBytes, randomFillSync, randomInt, randomUUID } from 'node:crypto'
import os from 'node:os'
import { performance as perf } from 'node:perf_hooks'
import timers from 'node:timers'
import * as promised from 'node:timers/promises'
import { promisify } from 'node:util'

let line = 0
const log = (...words) => console.log(line++, ...words)

// Time.
class Stamp extends Date {
  label() {
    return `stamp ${this.getTime()}`
  }
}
log('Date.now', Date.now(), 'new Date', new Date().toISOString(), 'Date()', Date())
log('subclass', new Stamp().label(), new Stamp() instanceof Date, new Stamp(5).getTime())
log('construct', Reflect.construct(Date, []).getTime(), new Date(2020, 1, 2).getTime())
log(
  'fixed',
  Date.parse('2020-01-01T00:00:00Z'),
  Date.UTC(2020, 1),
  new Date('2020-01-01').getTime(),
)
log('spread', new Date(...[]).getTime(), String(new Date()), JSON.stringify({ at: new Date() }))
log(
  'prototype',
  Object.getPrototypeOf(new Date()) === Date.prototype,
  new Date().constructor === Date,
)
log(
  'Intl',
  new Intl.DateTimeFormat('en', { fractionalSecondDigits: 3, second: 'numeric' }).format(),
)
log('Intl parts', new Intl.DateTimeFormat('en', { timeStyle: 'full' }).formatToParts().length)
log('performance', performance.now(), perf.now(), performance.now() > 0)
log('hrtime', process.hrtime(), process.hrtime.bigint(), process.hrtime([1, 1])[0] > 0)
log('uptime', process.uptime(), os.uptime())

// Chance.
log('Math.random', Math.random(), Math.random())
log('uuid', randomUUID(), crypto.randomUUID(), nodeCrypto.randomUUID())
log('bytes', randomBytes(8).toString('hex'), randomFillSync(Buffer.alloc(4)).toString('hex'))
log('async bytes', (await promisify(randomBytes)(8)).toString('hex'))
log(
  'getRandomValues',
  crypto.getRandomValues(new Uint32Array(2)),
  nodeCrypto.webcrypto.getRandomValues(new Uint8Array(3)),
)
log('int', randomInt(1_000_000), randomInt(10, 20), await promisify(randomInt)(1_000_000))
const filled = await promisify(nodeCrypto.randomFill)(Buffer.alloc(6))
log('randomFill', filled.toString('hex'))

// The machine.
log('os', os.hostname(), os.freemem(), os.totalmem(), os.loadavg(), os.cpus().length, os.tmpdir())
log('more os', os.platform(), os.release(), os.arch(), os.homedir(), os.userInfo().username)
log('process', process.pid, process.ppid, process.cwd(), process.platform, process.version.length)
log('memory', process.memoryUsage().heapUsed, process.memoryUsage.rss(), process.cpuUsage().user)
log('resources', process.resourceUsage().userCPUTime, Object.keys(process.env).length > 0)

// Timers: the order they fire in, among themselves and against immediates.
await new Promise((resolve) => {
  let open = 8
  const done = (name) => {
    log('fired', name, Date.now())
    if (--open === 0) resolve()
  }
  for (let index = 0; index < 4; index++) setTimeout(done, Math.random() * 12, `timeout ${index}`)
  setImmediate(done, 'immediate')
  timers.setTimeout(done, 3, 'node:timers')
  queueMicrotask(() => done('microtask'))
  process.nextTick(done, 'tick')
})

let ticks = 0
await new Promise((resolve) => {
  const interval = setInterval(() => {
    log('interval', ++ticks, performance.now())
    if (ticks === 4) {
      clearInterval(interval)
      resolve()
    }
  }, 3)
})

const cancelled = setTimeout(() => log('never'), 5)
clearTimeout(cancelled)
const refreshed = setTimeout(() => log('refreshed', Date.now()), 10)
setTimeout(() => refreshed.refresh(), 6)
const loose = setTimeout(() => log('unreferenced, still fires'), 8)
loose.unref()
log('hasRef', loose.hasRef(), refreshed.hasRef(), clearImmediate(setImmediate(() => log('never'))))

log('promised', await promised.setTimeout(4, 'value'), await promised.setImmediate('now'))
let rounds = 0
for await (const value of promised.setInterval(3, 'beat')) {
  log(value, ++rounds, Date.now())
  if (rounds === 3) break
}
await promised.scheduler.wait(4)
await promised.scheduler.yield()
log('promisify', await promisify(setTimeout)(3, 'value'), await promisify(setImmediate)('now'))

const controller = new AbortController()
setTimeout(() => controller.abort(new Error('enough')), 3)
await promised
  .setTimeout(1000, undefined, { signal: controller.signal })
  .catch((error) => log(error.name, error.code, error.cause?.message))
// The timers of these signals alone keep no process alive.
const awake = setTimeout(() => {}, 1000)
const signal = AbortSignal.timeout(6)
await new Promise((resolve) => signal.addEventListener('abort', resolve))
log('signal', signal.aborted, signal.reason.name, Date.now())
const any = AbortSignal.any([AbortSignal.timeout(5), new AbortController().signal])
await new Promise((resolve) => any.addEventListener('abort', resolve))
log('any', any.reason.name)
clearTimeout(awake)

const winner = await Promise.race([
  promised.setTimeout(Math.random() * 8, 'first'),
  promised.setTimeout(Math.random() * 8, 'second'),
])
log('winner', winner, Date.now())
await promised.setTimeout(15)
