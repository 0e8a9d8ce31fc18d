// What a program can tell about the functions Retake replaces, while no run is
// active. Prints one line of JSON; it must be the same with Retake and without.
//
//     node native-behaviour.mjs '"plain"' | '"imported"' | '"installed"' | '"after runs"'
import childProcess from 'node:child_process'
import nodeCrypto, { randomUUID } from 'node:crypto'
import dns from 'node:dns'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import os from 'node:os'
import timers from 'node:timers'
import timersPromises, { setTimeout as sleep } from 'node:timers/promises'
import util, { promisify } from 'node:util'
import worker from 'node:worker_threads'
import zlib from 'node:zlib'

const mode = JSON.parse(process.argv[2])
if (mode !== 'plain') {
  if (mode === 'imported') await import('retake')
  const { install, record, replay, tool } = await import('@retake/engine')
  if (mode !== 'imported') install()
  if (mode === 'after runs') {
    const agent = () => Promise.all([sleep(1), tool('t', () => new Date())()])
    const { run } = await record({ name: 'before', dir: 'runs' }, agent)
    await replay(run.path, agent)
  }
}

class OwnDate extends Date {
  later() {
    return new OwnDate(this.getTime() + 1)
  }
}
class OwnFile extends File {}
class OwnRegistry extends FinalizationRegistry {}
const thrown = async (run) => {
  try {
    await run()
    return 'nothing'
  } catch (error) {
    return [error.constructor.name, error.name, error.code, error.message].join(' | ')
  }
}
const server = http.createServer((_request, response) => response.end('pong'))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${server.address().port}/`
const h2Server = http2.createServer((_request, response) => response.end('pong'))
h2Server.listen(0, '127.0.0.1')
await once(h2Server, 'listening')
const h2Url = `http://127.0.0.1:${h2Server.address().port}`

const checks = {
  // ── clock ──
  'Date is one class': () => [
    new Date() instanceof Date,
    new Date().constructor === Date,
    Date.prototype.constructor === Date,
    Object.prototype.toString.call(new Date()),
    util.types.isDate(new Date()),
    Object.getPrototypeOf(new Date(5)) === Date.prototype,
    structuredClone(new Date(5)) instanceof Date,
    Reflect.ownKeys(Date).map(String).toSorted(),
    util.inspect(Date),
  ],
  'Date without new': () => [typeof Date(), Date().length > 20, typeof Date.now()],
  'Date with arguments': () => [
    new Date(0).toISOString(),
    new Date(2020, 1, 2).getMonth(),
    new Date('2020-01-01').getTime(),
    new Date(new Date(7)).getTime(),
    Number.isNaN(new Date(undefined).getTime()),
    Date.UTC(2020, 1),
    Date.parse('2020-01-01'),
    Reflect.construct(Date, [5]).getTime(),
    Reflect.construct(Date, [5], OwnDate) instanceof OwnDate,
  ],
  'a subclass of Date': () => [
    new OwnDate() instanceof OwnDate,
    new OwnDate() instanceof Date,
    new OwnDate(5).later().getTime(),
    new OwnDate(5).constructor.name,
    Math.abs(new OwnDate().getTime() - Date.now()) < 1000,
  ],
  'performance.now': () => [performance.now() > 0, performance.timeOrigin > 1e12],
  'performance.mark': () => {
    const mark = performance.mark('a', { detail: 1, startTime: 5 })
    performance.mark('b', { startTime: 9 })
    return [mark.constructor.name, mark.startTime, performance.measure('c', 'a', 'b').duration]
  },
  'process.hrtime': () => [
    process.hrtime().length,
    process.hrtime([0, 0])[0] > 0,
    typeof process.hrtime.bigint(),
  ],
  'process.hrtime, wrong': () => thrown(() => process.hrtime('x')),
  'process.hrtime, too short': () => thrown(() => process.hrtime([1])),
  'Intl default date': () => {
    const format = new Intl.DateTimeFormat('en', { year: 'numeric' })
    return [
      format.format(0),
      Reflect.get(format, 'format') === Reflect.get(format, 'format'),
      [0].map(Reflect.get(format, 'format')),
      format.formatToParts(0),
    ]
  },
  'Intl, wrong': () => thrown(() => new Intl.DateTimeFormat().format(Number.NaN)),
  'Event.timeStamp': () => [new Event('x').timeStamp > 0, Object.keys(new Event('x'))],
  'File is one class': () => [
    new File([], 'a') instanceof File,
    new File([], 'a') instanceof Blob,
    new File([], 'a').constructor === File,
    new OwnFile([], 'a') instanceof OwnFile,
    new File(['abc'], 'a', { lastModified: 5 }).lastModified,
  ],

  // ── random ──
  'Math.random': () => [Math.random() < 1, Object.keys(Math).length],
  'crypto is one object': () => [
    nodeCrypto.webcrypto === globalThis.crypto,
    randomUUID === nodeCrypto.randomUUID,
    globalThis.crypto instanceof Crypto,
  ],
  'random ids': () => [
    nodeCrypto.randomUUID().length,
    nodeCrypto.randomUUID({ disableEntropyCache: true }).length,
    globalThis.crypto.randomUUID().length,
  ],
  'random bytes': async () => {
    const array = new Uint16Array(4)
    return [
      nodeCrypto.randomBytes(5).length,
      (await promisify(nodeCrypto.randomBytes)(6)).length,
      (await promisify(nodeCrypto.randomFill)(Buffer.alloc(3))).length,
      (await promisify(nodeCrypto.randomInt)(5)) < 5,
      nodeCrypto.randomFillSync(array) === array,
      globalThis.crypto.getRandomValues(array) === array,
      nodeCrypto.getRandomValues(array) === array,
      nodeCrypto.randomInt(3, 4),
    ]
  },
  'randomBytes, wrong': () => thrown(() => nodeCrypto.randomBytes(-1)),
  'randomInt, wrong': () => thrown(() => nodeCrypto.randomInt(5, 1)),
  'getRandomValues, floats': () =>
    thrown(() => globalThis.crypto.getRandomValues(new Float32Array(2))),
  'getRandomValues, too many': () =>
    thrown(() => globalThis.crypto.getRandomValues(new Uint8Array(70_000))),
  'getRandomValues, elsewhere': () =>
    thrown(() => globalThis.crypto.getRandomValues.call({}, new Uint8Array(1))),
  'key pairs': async () => {
    const pair = await promisify(nodeCrypto.generateKeyPair)('ed25519')
    return [Object.keys(pair), pair.publicKey.asymmetricKeyType]
  },

  // ── timers ──
  'timers are one set': () => [
    timers.setTimeout === globalThis.setTimeout,
    timers.promises.setTimeout === timersPromises.setTimeout,
    promisify(setTimeout) === timersPromises.setTimeout,
    promisify(setImmediate) === timersPromises.setImmediate,
    sleep === timersPromises.setTimeout,
  ],
  'a timeout': async () => {
    const timeout = setTimeout(() => {}, 5)
    const facts = [
      timeout.constructor.name,
      timeout.hasRef(),
      timeout.unref() === timeout,
      timeout.refresh() === timeout,
      typeof timeout[Symbol.toPrimitive](),
    ]
    clearTimeout(Number(timeout))
    const args = await new Promise((resolve) => setTimeout((...all) => resolve(all), 1, 'a', 2))
    return [...facts, args, await promisify(setTimeout)(1, 'value')]
  },
  'an interval and an immediate': async () => {
    let ticks = 0
    await new Promise((resolve) => {
      const interval = setInterval(() => {
        if (++ticks === 3) resolve(clearInterval(interval))
      }, 1)
    })
    const immediate = setImmediate(() => ticks++)
    clearImmediate(immediate)
    let turns = 0
    for await (const value of timersPromises.setInterval(1, 'v')) {
      if (value === 'v' && ++turns === 2) break
    }
    await timersPromises.scheduler.wait(1)
    return [ticks, turns, immediate.constructor.name, await promisify(setImmediate)('x')]
  },
  'setTimeout, wrong': () => thrown(() => Reflect.apply(setTimeout, undefined, ['x'])),
  'sleep, aborted': () => thrown(() => sleep(5, null, { signal: AbortSignal.abort() })),
  'AbortSignal.timeout': async () => {
    const signal = AbortSignal.timeout(1)
    await once(signal, 'abort')
    return [signal instanceof AbortSignal, signal.reason.name, signal.reason.code]
  },
  'AbortSignal.timeout, wrong': () => thrown(() => AbortSignal.timeout(-1)),

  // ── network ──
  fetch: async () => {
    const response = await fetch(url)
    return [response instanceof Response, response.url === url, await response.text()]
  },
  'fetch, refused': () => thrown(() => fetch('http://127.0.0.1:2')),
  'fetch, nothing': () => thrown(() => fetch()),
  'fetch, wrong': () => thrown(() => fetch('nowhere')),
  'fetch, data': async () => (await fetch('data:text/plain,hi')).text(),
  http: async () => {
    const [response] = await once(http.get(url), 'response')
    const chunks = await response.toArray()
    return [response.statusCode, chunks.join(''), response.req.reusedSocket]
  },
  http2: async () => {
    const session = http2.connect(h2Url)
    const stream = session.request({ ':path': '/' })
    const chunks = await stream.toArray()
    session.close()
    return [session.constructor.name, stream.constructor.name, chunks.join('')]
  },
  socket: async () => {
    const { hostname, port } = new URL(url)
    const socket = net.connect(Number(port), hostname)
    await once(socket, 'connect')
    const facts = [socket instanceof net.Socket, socket.remotePort === Number(port)]
    socket.destroy()
    return facts
  },
  dns: async () => [
    Object.keys(await promisify(dns.lookup)('127.0.0.1')),
    await dns.promises.lookup('127.0.0.1'),
  ],

  // ── files and processes ──
  files: async () => {
    fs.writeFileSync('native.txt', 'abc')
    const handle = await fs.promises.open('native.txt')
    const { bytesRead } = await handle.read(Buffer.alloc(9), 0, 9, 0)
    await handle.close()
    const fd = fs.openSync('native.txt')
    const read = await promisify(fs.read)(fd, Buffer.alloc(9), 0, 9, 0)
    fs.closeSync(fd)
    return [
      bytesRead,
      Object.keys(read),
      await fs.promises.readFile('native.txt', 'utf8'),
      fs.statSync('native.txt').constructor.name,
      await promisify(fs.exists)('native.txt'),
      fs.createReadStream('native.txt').constructor.name,
      fs.realpathSync.native.name,
    ]
  },
  'no such file': () => thrown(() => fs.promises.readFile('missing.txt')),
  'readFileSync, wrong': () => thrown(() => fs.readFileSync({})),
  processes: async () => {
    const { execPath } = process
    const child = childProcess.spawn(execPath, ['-p', '1'])
    const [code] = await once(child, 'exit')
    return [
      child instanceof childProcess.ChildProcess,
      typeof child.pid,
      code,
      await promisify(childProcess.execFile)(execPath, ['-p', '2']),
      String(childProcess.execFileSync(execPath, ['-p', '3'])),
      childProcess.spawnSync(execPath, ['-p', '4'], { encoding: 'utf8' }).stdout,
    ]
  },
  'promisified exec': async () => promisify(childProcess.exec)('echo hi'),
  'no such program': async () => {
    const child = childProcess.spawn('no-such-program')
    const [error] = await once(child, 'error')
    return [error.code, error.syscall, error.path]
  },

  // ── work, host, the rest ──
  zlib: async () => {
    const packed = await promisify(zlib.gzip)('abc')
    return [
      String(await promisify(zlib.gunzip)(packed)),
      String(zlib.gunzipSync(packed)),
      await new Response(
        new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip')),
      ).text(),
    ]
  },
  scrypt: async () => (await promisify(nodeCrypto.scrypt)('a', 'b', 4)).toString('hex'),
  digest: async () => (await crypto.subtle.digest('SHA-256', new Uint8Array(1))).byteLength,
  host: () => [
    typeof process.pid,
    process.pid === process.pid,
    os.cpus().length > 0,
    os.hostname() === os.hostname(),
    Object.keys(process.memoryUsage()),
    process.memoryUsage.rss() > 0,
    process.uptime() > 0,
    Object.keys(process).includes('pid'),
  ],
  'classes that are reported': async () => {
    const { port1, port2 } = new MessageChannel()
    port2.postMessage('x')
    const [event] = await once(port1, 'message')
    port1.close()
    const cloned = structuredClone(new Map([[1, new Date(2)]]))
    return [
      port1 instanceof MessagePort,
      event.data ?? event,
      new OwnRegistry(() => {}) instanceof FinalizationRegistry,
      new FinalizationRegistry(() => {}).constructor === FinalizationRegistry,
      new MessageChannel().constructor === MessageChannel,
      cloned.get(1) instanceof Date,
      worker.MessageChannel === MessageChannel,
    ]
  },
  'a worker': async () => {
    const thread = new worker.Worker('require("worker_threads").parentPort.postMessage(1)', {
      eval: true,
    })
    const [message] = await once(thread, 'message')
    await thread.terminate()
    return [message, thread instanceof worker.Worker]
  },
  output: () => [typeof process.stdout.write, process.stdout.write(''), console.log.name],
}

const results = {}
for (const [name, check] of Object.entries(checks)) {
  try {
    results[name] = await check()
  } catch (error) {
    results[name] = String(error)
  }
}
console.log(`\n${JSON.stringify(results)}`)
process.exit()
