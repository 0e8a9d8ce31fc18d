// An agent on axios: JSON, parallel requests, a retry by hand, errors, an upload, a stream.
import axios from 'axios'

const client = axios.create({ baseURL: process.env.AGENT_BASE_URL, timeout: 5000 })
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

const answer = await client.post('/v1/chat/completions', {
  model: 'gpt-example',
  messages: [{ role: 'user', content: `hello ${Math.random()}` }],
})
log(answer.status, answer.data.id, answer.data.choices[0].message.content)

await Promise.all(
  Array.from({ length: 6 }, async (_, index) => {
    const { data } = await client.post('/echo', { index, id: crypto.randomUUID() })
    log('echo', index, data.number, data.random)
  }),
)

const key = crypto.randomUUID()
for (let attempt = 1; attempt <= 4; attempt++) {
  try {
    const { data } = await client.get('/flaky', {
      params: { key, times: 2, status: 503 },
    })
    log('attempt', attempt, data)
  } catch (error) {
    log('attempt', attempt, error.code, error.response.status, error.response.data.error.message)
  }
}

const cookies = await client.get('/set-cookie')
// Names only: a cookie's value is a secret and never on a tape.
log(
  'cookies',
  cookies.headers['set-cookie'].map((cookie) => cookie.split('=')[0]),
)
log('gzip', (await client.get('/gzip')).data.random)
log('redirect', (await client.get('/redirect', { params: { hops: 2 } })).data.query)

const form = new FormData()
form.append('file', new Blob([Buffer.alloc(2000, 'x')]), 'x.bin')
log('upload', JSON.stringify((await client.post('/upload', form)).data.contentType))
log('upload', (await client.put('/upload', Buffer.alloc(100_000, 'y'))).data.sha256)

const { data: stream } = await client.get('/events', { responseType: 'stream' })
for await (const chunk of stream) log('chunk', chunk.length)

for (const path of ['/status?code=404', '/reset', '/hang']) {
  try {
    await client.get(path, { timeout: 60 })
  } catch (error) {
    log(path, error.constructor.name, error.code, error.message)
  }
}
