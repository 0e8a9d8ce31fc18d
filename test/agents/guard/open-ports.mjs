/**
 * Makes a guarded call and a recorded run in a program that holds something open which has
 * nothing to do with them, and prints what came of both. Usage: `open-ports.mjs <case> <folder>`.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { register } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  BroadcastChannel,
  isMainThread,
  MessageChannel,
  parentPort,
  Worker,
  workerData,
} from 'node:worker_threads'

const ANSWER = 'data:text/javascript,export const answer = 42'
const MAKE_PIPE = 'mkfifo'
const ECHO =
  'const { parentPort: p } = require("worker_threads"); p.on("message", (m) => p.postMessage(m))'
const listened = (code) => new Worker(code, { eval: true }).on('message', () => {})
const tick = () => new Promise((resolve) => setImmediate(resolve))

/** Made before Retake is loaded, and listened to only later. */
const early = { worker: new Worker(ECHO, { eval: true }), channel: new MessageChannel() }

const cases = {
  'a worker that is listened to': () => listened(ECHO),
  'a worker from before Retake was loaded': () => early.worker.on('message', () => {}),
  'a busy worker': () => {
    const worker = listened(ECHO)
    const send = () => worker.postMessage('again', [])
    worker.on('message', send)
    send()
  },
  'a message port': () => new MessageChannel().port1.on('message', () => {}),
  'a message port with onmessage': () =>
    Object.assign(new MessageChannel().port1, { onmessage: () => {} }),
  'a message port from before Retake was loaded': () => early.channel.port1.on('message', () => {}),
  'a message port that a worker sent': async () => {
    const worker = new Worker(
      'const { parentPort, MessageChannel } = require("worker_threads"); const { port1, port2 } = new MessageChannel(); port1.on("message", () => {}); parentPort.postMessage(port2, [port2])',
      { eval: true },
    )
    const port = await new Promise((resolve) => worker.once('message', resolve))
    port.on('message', () => {})
  },
  'a broadcast channel': () => Object.assign(new BroadcastChannel('open'), { onmessage: () => {} }),
  'a file request that waits': () => {
    const pipe = join(folder, 'pipe')
    execFileSync(MAKE_PIPE, [pipe])
    void readFile(pipe)
    // A thread that waits for the other end would keep the process from ending.
    process.on('exit', () => closeSync(openSync(pipe, 'r+')))
  },
  'file requests all the time': async () => {
    const again = () => void readFile(fileURLToPath(import.meta.url)).then(again)
    for (let count = 0; count < 4; count += 1) again()
  },
  'a worker and hooks of the program': () => {
    register(
      `data:text/javascript,${encodeURIComponent('export const load = (url, context, next) => next(url, context)')}`,
    )
    listened(ECHO)
  },
}

const [name, folder] = isMainThread ? process.argv.slice(2) : workerData

if (isMainThread && name.startsWith('parentPort')) {
  // The same program as a worker, which listens to its parent.
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: ['parentPort', folder] })
  worker.on('message', (answer) => {
    console.log(JSON.stringify(answer))
    process.exit(0)
  })
} else {
  const { guard, record } = await import('retake')
  if (isMainThread) await cases[name]()
  else parentPort.on('message', () => {})
  for (let count = 0; count < 5; count += 1) await tick()
  const run = guard({ name: 'ports', dir: folder })
  run.tool('add', ({ a, b }) => a + b)
  run.tool('later', async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return 'later'
  })
  const { output: sum } = await run.call('add', { a: 1, b: 2 })
  const { output: later } = await run.call('later', {})
  run.end()
  const { output } = await record({ name: 'ports', dir: folder }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    const { answer } = await import(ANSWER)
    return answer
  })
  const answer = { sum, later, output }
  if (!isMainThread) parentPort.postMessage(answer, [])
  else {
    console.log(JSON.stringify(answer))
    process.exit(0)
  }
}
