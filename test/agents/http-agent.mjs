// An agent on node:http: a keep-alive pool smaller than the work, pipes, timeouts.
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const base = process.env.AGENT_BASE_URL
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

function send(path, { agent, body = '', method = 'POST', timeout = 2000 } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(base + path, { agent, method, timeout }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ response, text, reused: request.reusedSocket }))
      response.on('error', reject)
    })
    request.on('timeout', () => request.destroy(new Error('too slow')))
    request.on('error', reject)
    request.end(body)
  })
}

const pool = new http.Agent({ keepAlive: true, maxSockets: 3 })
await Promise.all(
  Array.from({ length: 12 }, async (_, index) => {
    const body = `body ${index} ${Math.random()}`
    const { text, reused } = await send(`/echo?pool=${index}`, { agent: pool, body })
    log('pool', index, reused, JSON.parse(text).random)
  }),
)
for (let index = 0; index < 3; index++) {
  await sleep(Math.random() * 10)
  const { text, reused } = await send(`/echo?again=${index}`, { agent: pool })
  log('again', index, reused, JSON.parse(text).number)
}
pool.destroy()

const { response } = await send('/set-cookie', { method: 'GET' })
// Names only: a cookie's value is a secret and never on a tape.
const cookies = response.headers['set-cookie'].map((cookie) => cookie.split('=')[0])
log(response.statusCode, cookies, response.rawHeaders.length)

http.get(`${base}/chunks?count=4`, (chunks) => {
  log('head', chunks.statusCode)
  chunks.on('data', (chunk) => log('chunk', chunk.toString()))
  chunks.on('close', () => log('closed', chunks.complete))
})

const upload = http.request(`${base}/upload`, { method: 'PUT' })
for (let index = 0; index < 5; index++) {
  upload.write(`part ${index} ${crypto.randomUUID()}\n`)
  await sleep(2)
}
upload.end()
const uploaded = await new Promise((resolve) => upload.once('response', resolve))
for await (const chunk of uploaded) log('uploaded', chunk.toString())

for (const [path, timeout] of [
  ['/hang', 30],
  ['/reset', 2000],
  ['/reset-mid-body', 2000],
]) {
  await send(path, { timeout }).catch((error) => log(path, error.code, error.message))
}
