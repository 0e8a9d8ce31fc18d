// An agent on the OpenAI responses API: a tool loop, a stream, a fan-out.
import { randomUUID } from 'node:crypto'
import OpenAI from 'openai'

const client = new OpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
const model = 'gpt-example'
let line = 0
const log = (...words) => console.log(line++, new Date().toISOString(), ...words)

const tools = [
  {
    type: 'function',
    name: 'find_order',
    description: 'Finds an order',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
    strict: false,
  },
]

const input = [{ role: 'user', content: `Where is order ${randomUUID()}?` }]
for (let round = 1; round <= 5; round++) {
  const response = await client.responses.create({ model, input, tools })
  log('round', round, response.id, JSON.stringify(response.usage))
  input.push(...response.output)
  const calls = response.output.filter((item) => item.type === 'function_call')
  if (calls.length === 0) {
    log('answer', response.output_text)
    break
  }
  for (const call of calls) {
    const output = JSON.stringify({ arguments: call.arguments, shelf: Math.random() })
    log('tool', call.call_id, output)
    input.push({ type: 'function_call_output', call_id: call.call_id, output })
  }
}

const stream = await client.responses.create({ model, input: 'Say something', stream: true })
for await (const event of stream) {
  if (event.type === 'response.output_text.delta') log('delta', JSON.stringify(event.delta))
  else log(event.type, event.sequence_number)
}

const final = await client.responses.stream({ model, input: 'Use a tool', tools }).finalResponse()
log('final', final.id, final.output.map((item) => item.arguments).join(' '))

await Promise.all(
  Array.from({ length: 5 }, async (_, index) => {
    const response = await client.responses.create({ model, input: `question ${index}` })
    log('fan-out', index, response.output_text, crypto.randomUUID())
  }),
)
