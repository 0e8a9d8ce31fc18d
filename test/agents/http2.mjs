// An agent on node:http2: many streams on one session, events, a reset stream.
import http2 from 'node:http2'

const session = http2.connect(process.env.AGENT_H2_URL)
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

function send(path, body) {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': path, ':method': body ? 'POST' : 'GET' })
    let status
    let text = ''
    stream.on('response', (headers) => {
      status = headers[':status']
      log('head', path, status)
    })
    stream.setEncoding('utf8')
    stream.on('data', (chunk) => (text += chunk))
    stream.on('end', () => resolve({ status, text }))
    stream.on('error', reject)
    stream.end(body)
  })
}

log('first', (await send('/echo', `hello ${Math.random()}`)).text)
await Promise.all(
  Array.from({ length: 8 }, async (_, index) => {
    const { text } = await send(`/echo?n=${index}`, crypto.randomUUID())
    log('echo', index, JSON.parse(text).number, JSON.parse(text).random)
  }),
)

const events = session.request({ ':path': '/events?count=5' })
events.end()
for await (const chunk of events) log('chunk', chunk.length)

const model = JSON.stringify({ model: 'claude-example', stream: true, messages: [] })
const { text } = await send('/v1/messages', model)
log('events', text.split('\n\n').length)

await send('/reset').catch((error) => log(error.code, error.message))

const cancelled = session.request({ ':path': '/chunks?count=50' })
cancelled.end()
setTimeout(() => cancelled.close(http2.constants.NGHTTP2_CANCEL), 10 + Math.random() * 20)
let received = 0
cancelled.on('data', (chunk) => (received += chunk.length))
await new Promise((resolve) => cancelled.on('close', resolve))
log('cancelled after', received)

session.close()
