// An agent on node-fetch, with and without a keep-alive agent.
import http from 'node:http'
import fetch, { AbortError, FormData } from 'node-fetch'

const base = process.env.AGENT_BASE_URL
const agent = new http.Agent({ keepAlive: true })
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

const response = await fetch(`${base}/v1/chat/completions`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'gpt-example', messages: [], seed: Math.random() }),
})
log(response.status, (await response.json()).choices[0].message.content)

await Promise.all(
  Array.from({ length: 6 }, async (_, index) => {
    const options = { method: 'POST', body: `body ${index} ${crypto.randomUUID()}`, agent }
    const echo = await (await fetch(`${base}/echo?n=${index}`, options)).json()
    log('echo', index, echo.number, echo.random)
  }),
)

const events = await fetch(`${base}/events`, { agent })
for await (const chunk of events.body) log('chunk', chunk.length)
// Names only: a cookie's value is a secret and never on a tape.
const cookies = (await fetch(`${base}/set-cookie`)).headers.raw()['set-cookie']
log(
  'cookies',
  cookies.map((cookie) => cookie.split('=')[0]),
)
log('gzip', (await (await fetch(`${base}/gzip`)).json()).random)
log('redirected', (await fetch(`${base}/redirect`)).redirected)

const form = new FormData()
form.set('field', 'value')
log('form', (await (await fetch(`${base}/upload`, { method: 'POST', body: form })).json()).length)

const controller = new AbortController()
setTimeout(() => controller.abort(), 10 + Math.random() * 20)
try {
  const chunks = await fetch(`${base}/chunks?count=20`, { signal: controller.signal })
  for await (const chunk of chunks.body) log('before abort', chunk.toString())
} catch (error) {
  log(error instanceof AbortError, error.name, error.message)
}
try {
  await fetch(`${base}/reset`)
} catch (error) {
  log(error.constructor.name, error.code)
}
agent.destroy()
