// An agent that looks up a policy and reports it: OpenAI's SDK, JSON and streamed, and axios.
// It draws nothing by chance: against providers of the same seed, two runs are the same.
import { readFileSync, writeFileSync } from 'node:fs'
import axios from 'axios'
import OpenAI from 'openai'

const base = process.env.AGENT_BASE_URL
const client = new OpenAI({ apiKey: 'none', baseURL: `${base}/v1` })
const model = 'gpt-example'
const policy = readFileSync('policy.txt', 'utf8').trim()

const tools = [
  {
    type: 'function',
    function: {
      name: 'search_policy',
      description: 'Finds a policy of the shop',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
]
const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'How long can I return it?' },
]
for (let round = 1; round <= 5; round++) {
  const completion = await client.chat.completions.create({ model, messages, tools })
  const { message } = completion.choices[0]
  messages.push(message)
  if (!message.tool_calls) break
  for (const { id } of message.tool_calls) {
    messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify({ text: policy }) })
  }
}

const stream = await client.chat.completions.create({
  model,
  messages: [{ role: 'user', content: 'Sum it up.' }],
  stream: true,
})
let streamed = ''
for await (const chunk of stream) streamed += chunk.choices[0]?.delta.content ?? ''

if (process.argv.includes('--twice')) await axios.put(`${base}/upload`, `first ${policy}`)
const { data } = await axios.post(`${base}/echo`, { note: policy })
const { data: packed } = await axios.get(`${base}/gzip`)

writeFileSync('report.txt', `${streamed}\nPolicy: ${policy}\n`)
console.log('policy', policy)
console.log('streamed', streamed)
console.log('echo', data.length, 'packed', packed.random)
process.exitCode = process.argv.includes('--fail') ? 7 : 0
