// An agent on the npm package undici: fetch, request, stream, a pool.
import { Writable } from 'node:stream'
import { fetch, Pool, request, stream } from 'undici'

const base = process.env.AGENT_BASE_URL
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

const post = (index) => ({
  method: 'POST',
  body: JSON.stringify({ index, random: Math.random() }),
  headers: { 'content-type': 'application/json' },
})

await Promise.all(
  Array.from({ length: 5 }, async (_, index) => {
    const response = await fetch(`${base}/echo?fetch=${index}`, post(index))
    const { number, random } = await response.json()
    log('fetch', index, number, random)
  }),
)

await Promise.all(
  Array.from({ length: 5 }, async (_, index) => {
    const { statusCode, body } = await request(`${base}/echo?request=${index}`, post(index))
    log('request', index, statusCode, (await body.json()).random)
  }),
)

const pool = new Pool(base, { connections: 2 })
await Promise.all(
  Array.from({ length: 6 }, async (_, index) => {
    const { body } = await pool.request({ path: `/echo?pool=${index}`, ...post(index) })
    log('pool', index, (await body.json()).number)
  }),
)
await pool.close()

await stream(`${base}/events?count=4`, { method: 'GET' }, ({ statusCode }) => {
  log('stream', statusCode)
  return new Writable({
    write(chunk, _encoding, done) {
      log('piece', chunk.length)
      done()
    },
  })
})

const response = await fetch(`${base}/v1/messages`, {
  method: 'POST',
  body: JSON.stringify({ model: 'claude-example', stream: true, messages: [] }),
})
for await (const chunk of response.body) log('event bytes', chunk.length)
// Names only: a cookie's value is a secret and never on a tape.
const cookies = (await fetch(`${base}/set-cookie`)).headers.getSetCookie()
log(
  'cookies',
  cookies.map((cookie) => cookie.split('=')[0]),
)
log('gzip', (await (await fetch(`${base}/gzip?encoding=br`)).json()).random)

try {
  await request(`${base}/reset`)
} catch (error) {
  log(error.constructor.name, error.code, error.message)
}
try {
  await fetch(`${base}/hang`, { signal: AbortSignal.timeout(30) })
} catch (error) {
  log(error.name, error.message)
}
