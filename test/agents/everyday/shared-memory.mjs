import { once } from 'node:events'
import { MessageChannel, Worker } from 'node:worker_threads'
import { ask } from './model.mjs'

const code = `
  const { workerData } = require('node:worker_threads')
  const numbers = new Int32Array(workerData.memory)
  workerData.port.on('message', (text) => {
    numbers[0] = text.length
    workerData.port.postMessage('counted')
    workerData.port.close()
  })`
const { port1, port2 } = new MessageChannel()
const memory = new SharedArrayBuffer(4)
const worker = new Worker(code, {
  eval: true,
  workerData: { memory, port: port2 },
  transferList: [port2],
})
port1.postMessage(await ask('hello'))
await Promise.all([once(port1, 'message'), once(worker, 'exit')])
console.log(new Int32Array(memory)[0] > 0)
