// The newest undici from npm, beside the one in Node: fetch, request, and a pool that streams.
import { Agent, fetch, Pool, request } from 'undici'

const base = process.env.AGENT_BASE_URL
const ask = (content, stream = false) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content }],
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
  }),
})

const fetched = await fetch(`${base}/v1/chat/completions`, {
  ...ask('Say hello'),
  dispatcher: new Agent({ keepAliveTimeout: 50 }),
})
console.log(fetched.status, (await fetched.json()).choices[0].message.content)

const { statusCode, body } = await request(`${base}/v1/chat/completions`, ask('Report on north'))
console.log(statusCode, (await body.json()).choices[0].message.content)

const pool = new Pool(base, { connections: 2 })
const texts = await Promise.all(
  ['east', 'west'].map(async (part) => {
    const answer = await pool.request({
      path: '/v1/chat/completions',
      ...ask(`Report on ${part}`, true),
    })
    const pieces = []
    for await (const piece of answer.body) pieces.push(piece.toString())
    return pieces.join('')
  }),
)
console.log(texts.join('\n'))
await pool.close()
