// An agent on got: JSON, retries with back-off, parallel requests, a stream, errors.
import got from 'got'

const client = got.extend({
  prefixUrl: process.env.AGENT_BASE_URL,
  retry: { limit: 3, calculateDelay: ({ attemptCount }) => (attemptCount > 3 ? 0 : 5) },
})
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

const answer = await client
  .post('v1/messages', { json: { model: 'claude-example', messages: [], id: Math.random() } })
  .json()
log(answer.id, answer.content[0].text)

await Promise.all(
  Array.from({ length: 6 }, async (_, index) => {
    const echo = await client.post('echo', { json: { index, id: crypto.randomUUID() } }).json()
    log('echo', index, echo.number, echo.random)
  }),
)

const key = crypto.randomUUID()
const retried = await client.get('flaky', { searchParams: { key, times: 2, status: 503 } })
log('retried', retried.retryCount, retried.body)

for await (const chunk of client.stream('events?count=5')) log('chunk', chunk.length)
log('gzip', (await client.get('gzip').json()).random)
const redirected = await client.get('redirect?hops=2')
log('redirect', redirected.redirectUrls.length, redirected.url.split('?')[1])

const failing = client.extend({ retry: { limit: 0 } })
for (const path of ['status?code=422', 'reset', 'hang']) {
  try {
    await failing.get(path, { timeout: { response: 40 } })
  } catch (error) {
    log(path, error.constructor.name, error.code, error.message.replace(/127.*\//, ''))
  }
}
