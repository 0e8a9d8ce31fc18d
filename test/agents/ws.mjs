// An agent on WebSockets (the package ws): two connections at once, text and binary.
import { once } from 'node:events'
import WebSocket from 'ws'

const url = `${process.env.AGENT_BASE_URL.replace('http', 'ws')}/ws`
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

async function talk(name, words) {
  const socket = new WebSocket(`${url}?pushes=4&name=${name}`)
  const waiting = new Set(words)
  let pushes = 0
  const done = new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('message', (/** @type {Buffer} */ data, isBinary) => {
      if (isBinary) {
        log(name, 'binary', data.length)
        waiting.delete('binary')
      } else {
        const message = JSON.parse(data.toString())
        log(name, data.toString())
        if ('push' in message) pushes++
        if ('echo' in message) waiting.delete(message.echo)
      }
      if (pushes === 4 && waiting.size === 0) resolve()
    })
  })
  await once(socket, 'open')
  log(name, 'open')
  for (const word of words) {
    socket.send(word === 'binary' ? Buffer.from(crypto.getRandomValues(new Uint8Array(64))) : word)
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
  }
  await done
  socket.close(1000, 'bye')
  const [code] = await once(socket, 'close')
  log(name, 'closed', code)
}

await talk('alone', ['one', 'two', 'binary'])
await Promise.all([talk('left', ['a', 'b', 'über']), talk('right', ['x', 'binary', 'z'])])

const refused = new WebSocket(`${process.env.AGENT_BASE_URL.replace('http', 'ws')}/echo`)
const [error] = await once(refused, 'error').catch((reason) => [reason])
log('refused', error.message)
