/**
 * What guarded tools listen to, and what they are told by events. Prints what came of each.
 * Usage: `events.mjs <folder>`.
 */
import { AsyncResource } from 'node:async_hooks'
import { EventEmitter, once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { guard, presets } from '@retake/guard'
import { WebSocket } from 'undici'

const folder = process.argv[2]
const root = join(folder, 'inside')
mkdirSync(root)

/** One that knows nothing of WebSockets. */
async function startServer() {
  const server = createServer((_, response) => response.end())
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `127.0.0.1:${server.address().port}`
}
const allowed = await startServer()
const forbidden = await startServer()

const policy = presets.sandbox({ root, addresses: [allowed] })
const run = guard({ name: 'events', dir: folder, durability: 'memory', policy })
const bus = new EventEmitter()

/** All that can be seen of listeners: what is called, listed, counted and told. */
async function useListeners(emitter) {
  const seen = []
  const [a, b, c] = ['a', 'b', 'c'].map((name) => () => void seen.push(name))
  const names = new Map([a, b, c].map((each, index) => [each, 'abc'[index]]))
  const tell = (_, listener) => void seen.push(names.get(listener) ?? null)
  emitter.on('newListener', tell).on('removeListener', tell)
  emitter.on('x', a).once('x', b).prependListener('x', c)
  seen.push(emitter.listeners('x').map((each) => names.get(each)))
  seen.push(emitter.listenerCount('x'), emitter.listenerCount('x', a))
  emitter.emit('x')
  emitter.emit('x')
  emitter.off('x', a).removeListener('x', c)
  emitter.once('y', b).off('y', b)
  emitter.prependOnceListener('y', c)
  emitter.emit('y')
  seen.push(emitter.listenerCount('x'), emitter.listenerCount('y'))
  setImmediate(() => emitter.emit('z', 5))
  seen.push(await once(emitter, 'z'))
  try {
    emitter.on('x', 'no function')
  } catch (error) {
    seen.push(error.code)
  }
  await pipeline(Readable.from(['1', '2', '3']), new PassThrough(), async (source) => {
    for await (const chunk of source) seen.push(String(chunk))
  })
  return seen
}
run.tool('shared', () => useListeners(bus))
run.tool('own', () => useListeners(new EventEmitter()))
const listeners = {
  native: await useListeners(new EventEmitter()),
  shared: (await run.call('shared', {})).output,
  own: (await run.call('own', {})).output,
}

/** One function that several calls add to one target, twice each. */
const { signal } = new AbortController()
let count = 0
const listener = () => void (count += 1)
const object = { handleEvent: listener }
run.tool('add', () => {
  signal.addEventListener('abort', listener)
  signal.addEventListener('abort', listener)
  signal.addEventListener('abort', object, { once: true })
})
for (let round = 0; round < 3; round += 1) await run.call('add', { round })
const counts = []
for (const remove of [false, false, true]) {
  if (remove) signal.removeEventListener('abort', listener)
  signal.dispatchEvent(new Event('abort'))
  counts.push(count)
}

/** What listeners may write when their call is over. */
const attempts = {}
function write(file) {
  try {
    writeFileSync(join(folder, file), '')
    attempts[file] = 'written'
  } catch (error) {
    attempts[file] = error.code
  }
}
const writeOn = (event) => bus.on(event, write)
run.tool('done', () => void writeOn('done'))
run.tool('stuck', () => (writeOn('stuck'), new Promise(() => {})), { timeoutMs: 20 })
await run.call('done', {})
await run.call('stuck', {})
bus.emit('done', 'inside/of-done')
bus.emit('done', 'outside-of-done')
bus.emit('stuck', 'inside/of-stuck')

/** A pool does the work of the next in line when a tool gives back what it had. */
const nextInLine = new AsyncResource('NEXT_IN_LINE')
run.tool('give back', () => nextInLine.runInAsyncScope(write, null, 'of-others'))
await run.call('give back', {})

/** Throws the event that a WebSocket fails with. */
const connect = (url) =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    socket.addEventListener('error', reject)
    socket.addEventListener('open', resolve)
  })
run.tool('refused', () => connect(`ws://${forbidden}/`))
run.tool('failed', async () => {
  await connect(`ws://${forbidden}/`).catch(() => {})
  await connect(`ws://${allowed}/`)
})
const told = async (name) => {
  const { status, error, facts } = await run.call(name, {})
  const { code, rule, cause } = error
  const blocked = facts.blocked.map((text) => text.replace(/:\d+\.$/, ''))
  return { status, code, rule, isCauseError: cause instanceof Error, blocked }
}
const sockets = { refused: await told('refused'), failed: await told('failed') }

run.end()
process.stdout.write(JSON.stringify({ listeners, counts, attempts, sockets }), () =>
  process.exit(0),
)
