// One of many agents that run at once in a process. Everything it sends, waits
// for, prints and gets back carries its own marker.
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import axios from 'axios'
import OpenAI from 'openai'
import { tool } from '@retake/engine'

// Clients and agents are shared by all runs of the process, as in a server.
let openAi
let claude
const lookUp = tool('look_up', async ({ marker }) => {
  await sleep(Math.random() * 5)
  return { marker, stock: Math.random() }
})

export async function busyAgent(base, marker) {
  openAi ??= new OpenAI({ apiKey: 'none', baseURL: `${base}/v1`, maxRetries: 4 })
  claude ??= new Anthropic({ apiKey: 'none', baseURL: base })
  const log = []
  const say = (...words) => {
    log.push(words.join(' '))
    console.log(marker, ...words)
  }

  const gpt = { model: 'gpt-example', messages: [{ role: 'user', content: `ask ${marker}` }] }
  const streamed = async () => {
    let text = ''
    const stream = await openAi.chat.completions.create({ ...gpt, stream: true })
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    say('streamed', text)
    return text
  }
  const message = async () => {
    const request = { model: 'claude-example', max_tokens: 50 }
    const stream = claude.messages.stream({
      ...request,
      messages: [{ role: 'user', content: `stream ${marker}` }],
    })
    const final = await stream.finalMessage()
    say('message', final.id)
    return final.id
  }
  const retried = async () => {
    const user = `flaky:${marker}-${crypto.randomUUID()}:1:503`
    const completion = await openAi.chat.completions.create({ ...gpt, user })
    say('retried', completion.id)
    return completion.id
  }
  const overHttp = async (round) => {
    const text = await post(`${base}/echo?run=${marker}&round=${round}`, `body ${marker}`)
    const { number, random } = JSON.parse(text)
    say('http', round, number, random)
    return random
  }
  const withAxios = async () => {
    const { data } = await axios.post(`${base}/echo?axios=${marker}`, { marker })
    say('axios', data.random)
    return data.random
  }
  const waiting = async () => {
    const waits = []
    for (let index = 0; index < 4; index++) {
      await sleep(Math.random() * 6)
      waits.push(Date.now() % 1000, Math.floor(performance.now()) % 1000)
    }
    say('waited', waits.join(','))
    return waits
  }
  // Handles as numbers: those of other runs may be the same.
  const numbered = async () => {
    const never = Number(setTimeout(() => say('never'), 40))
    await new Promise((resolve) => setTimeout(resolve, 4))
    clearTimeout(never)
    await sleep(60)
    return 'fired'
  }
  const looked = async () => {
    const { stock } = await lookUp({ marker })
    say('stock', stock)
    return stock
  }

  const first = await openAi.chat.completions.create(gpt)
  say('first', first.choices[0].message.content)
  const together = await Promise.all([
    streamed(),
    message(),
    retried(),
    overHttp(1),
    overHttp(2),
    withAxios(),
    waiting(),
    numbered(),
    looked(),
  ])
  // On connections that the others kept open.
  for (let round = 3; round <= 5; round++) together.push(await overHttp(round))
  await new Promise((resolve) => setImmediate(resolve))
  return { marker, log, together, id: crypto.randomUUID() }
}

/** Through the global agent, which keeps connections for the next request. */
function post(url, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST' }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve(text))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}
