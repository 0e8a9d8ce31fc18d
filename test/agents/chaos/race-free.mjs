// No race: concurrent in every way an agent is, but what it comes to hangs on no order.
import { randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { writeFileSync } from 'node:fs'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { tool } from '@retake/engine'
import axios from 'axios'
import OpenAI from 'openai'

const base = process.env.AGENT_BASE_URL
const openai = new OpenAI({ apiKey: 'none', baseURL: `${base}/v1`, maxRetries: 4 })
const model = 'gpt-example'

async function echo(body, path = '/echo', timeoutMs = 60_000) {
  const response = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: { 'idempotency-key': randomUUID() },
    body: JSON.stringify({ ...body, id: randomUUID(), at: Date.now(), salt: Math.random() }),
    signal: AbortSignal.timeout(timeoutMs),
  })
  return (await response.json()).random
}

async function stream(topic) {
  const content = `${topic} ${randomBytes(4).toString('hex')}`
  const messages = [{ role: 'user', content }]
  const chunks = await openai.chat.completions.create({ model, stream: true, messages })
  let text = ''
  for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? ''
  return text
}

async function askAgain(status) {
  const { id } = await openai.chat.completions.create({
    model,
    user: `flaky:${randomUUID()}:2:${status}`,
    messages: [{ role: 'user', content: `It is ${new Date().toISOString()}` }],
  })
  return id
}

/** Whoever is free takes the next item: the ids it draws are then another's. */
async function inPool(items, size, work) {
  const results = []
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const at = next++
      results[at] = await work(items[at])
    }
  }
  await Promise.all(Array.from({ length: size }, worker))
  return results
}

const measure = tool('measure', async (name) => {
  await sleep(3)
  return { name, value: name.length }
})
const giveUp = (path) => echo({ path }, path, 80).catch((error) => error.name)

const started = Date.now()
const say = (what, value) => console.log(what, JSON.stringify(value))
say('fan-out', await Promise.all([3, 1, 2].map(async (n) => (await sleep(n), echo({ n })))))
say('after the join', await echo({ key: randomUUID() }))
say('tools', await Promise.all(['one', 'three', 'fifteen'].map((name) => measure(name))))
say('streams', await Promise.all(['left', 'right'].map(stream)))
say('retries', await Promise.all([429, 503].map(askAgain)))
say('pool', await inPool([1, 2, 3, 4, 5, 6], 3, (item) => echo({ item })))
say('timeouts', await inPool(['/echo', '/hang', '/echo', '/hang', '/echo'], 2, giveUp))
const agent = new http.Agent({ keepAlive: true, maxSockets: 2 })
const client = axios.create({ baseURL: base, httpAgent: agent })
const post = async (n) => (await client.post('/echo', { n, id: randomUUID() })).data.random
say('kept alive', await Promise.all([1, 2, 3, 4, 5].map(post)))
agent.destroy()
writeFileSync('result.txt', String(started))
say('file', (await readFile('result.txt', 'utf8')) === String(started))
say('took', Date.now() - started)
