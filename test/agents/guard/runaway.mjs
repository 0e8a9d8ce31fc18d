// A guarded tool that ignores its signal: given up, it goes on trying to get out, in every way.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { join } from 'node:path'
import { guard } from 'retake'

const [folder] = process.argv.slice(2)
const file = (name) => join(folder, name)
const TRIES = 60

const connections = { opened: 0, closed: 0 }
const requests = []
const server = http.createServer((request, response) => {
  requests.push(request.url)
  response.end('ok')
})
server.on('connection', (socket) => {
  connections.opened += 1
  socket.on('close', () => (connections.closed += 1))
  socket.on('error', () => {})
})
await once(server.listen(0, '127.0.0.1'), 'listening')
const { port } = server.address()

const turn = () => new Promise((resolve) => setImmediate(resolve))
const turns = async (count) => {
  for (let turned = 0; turned < count; turned += 1) await turn()
}
const tries = { inTime: {}, late: {} }
let isLate = false
let finish
const triedEnough = new Promise((resolve) => (finish = resolve))
let child

const ways = {
  appendFileSync: () => fs.appendFileSync(file('sync'), 'x'),
  appendFile: () => fs.promises.appendFile(file('promise'), 'x'),
  callback: () =>
    new Promise((resolve, reject) =>
      fs.appendFile(file('callback'), 'x', (error) => (error ? reject(error) : resolve())),
    ),
  stream: async () => {
    const stream = fs.createWriteStream(file('stream'), { flags: 'a' })
    stream.end('x')
    await once(stream, 'close')
  },
  mkdir: () => fs.mkdirSync(file(`folder-${isLate}`), { recursive: true }),
  fetch: async () => (await fetch(`http://127.0.0.1:${port}/fetch-${isLate}`)).text(),
  http: () =>
    new Promise((resolve, reject) => {
      http
        .get({ port, host: '127.0.0.1', path: `/http-${isLate}`, agent: false }, (response) => {
          response.resume().on('end', resolve)
        })
        .on('error', reject)
    }),
  connect: async () => {
    const socket = net.connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.destroy()
  },
  spawn: async () => {
    const program = spawn(process.execPath, [
      '-e',
      `require('fs').appendFileSync(process.argv[1], 'x')`,
      file('child'),
    ])
    await once(program, 'close')
  },
}

const run = guard({ name: 'runaway', dir: folder, limits: { timeoutMs: 5_000 } })
run.tool('work', async (_args, context) => {
  context.signal.addEventListener('abort', () => setInterval(() => tryOne('appendFileSync'), 1))
  child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  const held = net.connect(port, '127.0.0.1')
  held.on('error', () => {})
  const descriptor = fs.openSync(file('descriptor'), 'a')
  const stream = fs.createWriteStream(file('open-stream'))
  stream.on('error', () => {})
  // A stream whose write was refused holds back what follows, and calls nobody.
  ways.openStream = async () => {
    const written = new Promise((resolve, reject) =>
      stream.write('x', (error) => (error ? reject(error) : resolve('written'))),
    )
    if ((await (isLate ? Promise.race([written, turns(10)]) : written)) !== 'written')
      throw new Error('held back')
  }
  ways.descriptor = () => fs.writeSync(descriptor, 'x')
  ways.held = () =>
    new Promise((resolve, reject) => {
      if (held.destroyed) reject(new Error('destroyed'))
      else held.write('GET /held HTTP/1.1\r\n', (error) => (error ? reject(error) : resolve()))
    })
  const names = Object.keys(ways)
  for (const name of names) await tryOne(name)
  for (;;) {
    if (isLate) for (const name of names) await tryOne(name)
    if (
      names.every(
        (name) => Object.values(tries.late[name] ?? {}).reduce((a, b) => a + b, 0) >= TRIES,
      )
    )
      break
    await turn()
  }
  finish()
  throw new Error('late, and nobody hears')
})

/** How often each way was tried, and what came of it. */
async function tryOne(name) {
  const counts = ((isLate ? tries.late : tries.inTime)[name] ??= {})
  let came = 'done'
  try {
    await ways[name]()
  } catch (error) {
    came = error.code ?? error.cause?.code ?? error.message
  }
  counts[came] = (counts[came] ?? 0) + 1
}

const traces = () => ({
  files: Object.fromEntries(
    fs
      .readdirSync(folder)
      .filter((name) => !name.endsWith('.tape') && !name.endsWith('.lock'))
      .map((name) => [
        name,
        fs.statSync(file(name)).isDirectory() ? 'folder' : fs.statSync(file(name)).size,
      ]),
  ),
  opened: connections.opened,
  requests: requests.length,
})

process.on('unhandledRejection', (error) => {
  console.error('unhandled', error)
  process.exit(9)
})

const result = await run.call('work', {})
isLate = true
const before = traces()
await triedEnough
const [code, signal] =
  child.exitCode === null && child.signalCode === null
    ? await once(child, 'exit')
    : [child.exitCode, child.signalCode]
while (connections.closed < connections.opened) await turn()
const after = traces()
const tape = run.end()
console.log(
  JSON.stringify({
    status: result.status,
    exitReason: result.exitReason,
    code: result.error.code,
    tries,
    before,
    after,
    child: { code, signal },
    connections,
    tape: tape.path,
  }),
)
process.exit(0)
