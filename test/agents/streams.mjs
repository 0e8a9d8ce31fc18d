// An agent that reads streams badly: leaves early, aborts, copies, dawdles.
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

const base = process.env.AGENT_BASE_URL
const openai = new OpenAI({ apiKey: 'none', baseURL: `${base}/v1` })
const anthropic = new Anthropic({ apiKey: 'none', baseURL: base })
const messages = [{ role: 'user', content: 'go on' }]
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

// Leaves early.
const early = await openai.chat.completions.create({ model: 'gpt-example', messages, stream: true })
let chunks = 0
for await (const chunk of early) {
  log('early', chunk.choices[0]?.delta.content)
  if (++chunks === 3) break
}
log('aborted', early.controller.signal.aborted)
for await (const chunk of (await fetch(`${base}/chunks?count=10`)).body) {
  log('first only', chunk.length)
  break
}

// Aborts mid-stream, at a random moment.
for (let index = 0; index < 4; index++) {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), 10 + Math.random() * 40)
  try {
    const response = await fetch(`${base}/chunks?count=5`, { signal: controller.signal })
    for await (const chunk of response.body) log('chunk', index, Buffer.from(chunk).toString())
    log('whole', index)
  } catch (error) {
    log('aborted', index, error.name)
  } finally {
    clearTimeout(timer)
  }
}
const stream = anthropic.messages.stream({ model: 'claude-example', max_tokens: 50, messages })
stream.on('text', (text) => {
  log('text', text)
  stream.abort()
})
await stream.done().catch((error) => log('stream aborted', error.constructor.name))

// Copies.
const original = await fetch(`${base}/events?count=3`)
const clone = original.clone()
const readAll = async (name, body) => {
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    log(name, chunk.length)
  }
  return bytes
}
log('clones', await Promise.all([readAll('original', original.body), readAll('clone', clone.body)]))
const [left, right] = (await fetch(`${base}/events?count=3`)).body.tee()
log('tee', await Promise.all([readAll('left', left), readAll('right', right)]))
const [one, two] = (
  await openai.chat.completions.create({ model: 'gpt-example', messages, stream: true })
).tee()
const drain = async (name, from) => {
  for await (const chunk of from) log(name, chunk.choices[0]?.delta.content)
}
await Promise.all([drain('one', one), drain('two', two)])

// Dawdles, and reads by hand.
let slow = 0
for await (const chunk of (await fetch(`${base}/large?bytes=300000`)).body) {
  slow += chunk.length
  await sleep(1)
}
log('slow', slow)
const reader = (await fetch(`${base}/events?count=2`)).body.getReader()
for (let part = await reader.read(); !part.done; part = await reader.read()) {
  log('by hand', part.value.length)
}
const text = (await fetch(`${base}/events?count=2`)).body.pipeThrough(new TextDecoderStream())
for await (const piece of text) log('decoded', JSON.stringify(piece))
const piped = Readable.fromWeb((await fetch(`${base}/chunks?count=3`)).body)
for await (const piece of piped) log('piped', piece.toString())
const cancelled = await fetch(`${base}/chunks?count=10`)
await cancelled.body.cancel('not needed')
log('cancelled', cancelled.bodyUsed)

// Sends a stream.
const upload = await fetch(`${base}/upload`, {
  method: 'POST',
  body: Readable.from([Buffer.from('one'), Buffer.from(crypto.randomUUID())]),
  duplex: 'half',
})
log('upload', (await upload.json()).sha256)
