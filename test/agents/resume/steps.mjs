/**
 * Does a bit of everything, step by step, against a provider whose answers
 * depend only on what it is asked. What it prints depends on nothing else, so
 * that a run which was killed and resumed must print the same.
 */
import { appendFileSync, readFileSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import axios from 'axios'
import OpenAI from 'openai'
import { tool } from '@retake/engine'

const url = process.env.AGENT_BASE_URL
const openai = new OpenAI({ apiKey: 'none', baseURL: `${url}/v1`, maxRetries: 0 })
const post = async (id) =>
  (await (await fetch(`${url}/effect`, { method: 'POST', body: id })).json()).seen
const charge = tool('charge', async ({ id }) => ({ receipt: await post(`tool ${id}`) }))
const messages = [{ role: 'user', content: 'begin' }]

rmSync('log.txt', { force: true })
for (let round = 1; round <= 4; round++) {
  const answer = await openai.chat.completions.create({ model: 'm', messages })
  messages.push({ role: 'assistant', content: answer.choices[0].message.content })
  console.log(round, 'model', answer.choices[0].message.content)

  const { receipt } = await charge({ id: `r${round}` })
  console.log(round, 'tool', receipt)
  messages.push({ role: 'user', content: `receipt ${receipt}` })

  const lanes = await Promise.all(
    ['a', 'b', 'c'].map(async (lane) => {
      await sleep(lane === 'b' ? 3 : 1)
      const seen = await post(`lane ${round}${lane}`)
      const zipped = await promisify(zlib.gzip)(seen)
      return `${lane}:${seen}:${zipped.length}`
    }),
  )
  console.log(round, 'lanes', lanes.join(' '))

  const { data } = await axios.post(`${url}/effect`, `axios ${round}`)
  console.log(round, 'axios', data.seen)

  let text = ''
  const stream = await openai.chat.completions.create({
    model: 'm',
    stream: true,
    messages: [...messages, { role: 'user', content: `stream ${round}` }],
  })
  for await (const part of stream) text += part.choices[0]?.delta?.content ?? ''
  console.log(round, 'stream', text)

  appendFileSync('log.txt', `${round} ${text}\n`)
  await writeFile(`round-${round}.txt`, text)
  console.log(round, 'file', (await readFile(`round-${round}.txt`, 'utf8')).length)
}
console.log('log', readFileSync('log.txt', 'utf8').split('\n').length, 'end')
