// The stress agent: every kind of concurrency an agent has, one after another
// and interleaved. About a thousand lines, no two runs alike.
import { EventEmitter } from 'node:events'
import { promises as fsp } from 'node:fs'
import http from 'node:http'
import { scrypt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import pLimit from 'p-limit'

const base = process.env.AGENT_BASE_URL
const openai = new OpenAI({ apiKey: 'none', baseURL: `${base}/v1`, maxRetries: 4 })
const anthropic = new Anthropic({ apiKey: 'none', baseURL: base })
const gpt = (content) => ({ model: 'gpt-example', messages: [{ role: 'user', content }] })

let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)
const below = (limit) => Math.floor(Math.random() * limit)
const times = (count, run) => Promise.all(Array.from({ length: count }, (_, index) => run(index)))

async function echo(text) {
  const response = await fetch(`${base}/echo?text=${text}`, { method: 'POST', body: String(text) })
  const answer = await response.json()
  log('echo', text, answer.random)
  return answer
}

async function fanOut() {
  await times(20, (index) => echo(`fan-${index}`))
}

async function nestedFanOut() {
  await times(4, async (outer) => {
    const { random } = await echo(`outer-${outer}`)
    await times(3, async (inner) => {
      await sleep(below(8))
      await echo(`inner-${outer}-${inner}-${Math.floor(random * 100)}`)
    })
    log('nested done', outer)
  })
}

async function raceWithTimeout() {
  for (let index = 0; index < 6; index++) {
    const winner = await Promise.race([
      echo(`race-${index}`).then(() => 'response'),
      sleep(5 + below(20)).then(() => 'timeout'),
    ])
    log('winner', winner)
  }
}

async function sdkRetries() {
  await Promise.all(
    [429, 500, 503].map(async (status) => {
      const user = `flaky:${crypto.randomUUID()}:2:${status}`
      const completion = await openai.chat.completions.create({ ...gpt('retry'), user })
      log('retried', status, completion.id)
    }),
  )
}

async function streamsBesideAnInterval() {
  let ticks = 0
  const interval = setInterval(() => log('tick', ticks++), 4)
  const streamChat = async (name) => {
    const stream = await openai.chat.completions.create({ ...gpt(name), stream: true })
    for await (const chunk of stream) log('chunk', name, chunk.choices[0]?.delta.content)
  }
  const streamMessage = async () => {
    const stream = anthropic.messages.stream({
      model: 'claude-example',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'go' }],
    })
    stream.on('text', (text) => log('text', text))
    await stream.finalMessage()
  }
  await Promise.all([streamChat('left'), streamChat('right'), streamMessage()])
  clearInterval(interval)
}

async function limitedPool() {
  const limit = pLimit(3)
  await times(12, (index) =>
    limit(async () => {
      log('start', index)
      await echo(`pool-${index}`)
      await new Promise((resolve) => setImmediate(resolve))
      log('end', index)
    }),
  )
}

async function aborts() {
  await times(8, async (index) => {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), 10 + below(80))
    try {
      const response = await fetch(`${base}/chunks?i=${index}`, { signal: controller.signal })
      let bytes = 0
      for await (const chunk of response.body) bytes += chunk.length
      log('whole', index, bytes)
    } catch (error) {
      log('aborted', index, error.name)
    } finally {
      clearTimeout(timer)
    }
  })
}

async function timeouts() {
  await fetch(`${base}/hang`, { signal: AbortSignal.timeout(15) }).catch((error) => log(error.name))
  await openai.chat.completions
    .create(gpt('too slow'), { timeout: 3, maxRetries: 1 })
    .then(() => log('fast enough'))
    .catch((error) => log(error.constructor.name))
}

async function keepAliveAgent() {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 })
  await times(
    12,
    (index) =>
      new Promise((resolve, reject) => {
        const request = http.request(`${base}/echo?http=${index}`, { agent, method: 'POST' })
        request.on('error', reject)
        request.on('response', (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (chunk) => (text += chunk))
          response.on('end', () => {
            log('http', index, JSON.parse(text).random)
            resolve()
          })
        })
        request.end(`body ${index}`)
      }),
  )
  agent.destroy()
}

async function emitters() {
  const emitter = new EventEmitter()
  let received = 0
  await new Promise((resolve) => {
    emitter.on('work', async (index) => {
      await null
      await echo(`emitted-${index}`)
      log('emitted', index)
      if (++received === 5) resolve()
    })
    for (let index = 0; index < 5; index++) {
      setTimeout(() => emitter.emit('work', index), below(10))
    }
  })
}

async function threadPool() {
  const data = Buffer.alloc(50_000, 'thread pool ')
  const jobs = [
    async () => (await fsp.readFile(new URL(import.meta.url))).length,
    async () => (await promisify(zlib.gzip)(data)).length,
    async () => (await promisify(scrypt)('word', 'salt', 8, { N: 512 })).toString('hex'),
    async () => (await crypto.subtle.digest('SHA-256', data)).byteLength,
  ]
  await times(8, async (chain) => {
    for (let step = 0; step < 6; step++) {
      const result = await jobs[(chain + step) % jobs.length]()
      log('pool', chain, step, result)
      if (step === 3) await echo(`between-${chain}`)
    }
  })
}

const phases = {
  fanOut,
  nestedFanOut,
  raceWithTimeout,
  sdkRetries,
  streamsBesideAnInterval,
  limitedPool,
  aborts,
  timeouts,
  keepAliveAgent,
  emitters,
  threadPool,
}
for (const [name, run] of Object.entries(phases)) {
  log('phase', name)
  await run()
}
log('phase', 'all at once')
await Promise.all([nestedFanOut(), limitedPool(), emitters(), threadPool(), keepAliveAgent()])
log('end', below(1e9))
