// Chat completions of OpenAI: a tool loop, a stream, a streamed tool call, a retry, a fan-out, a timeout.
import OpenAI from 'openai'
import { findOrder, orderTool, question } from './orders.mjs'

const client = new OpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
const model = 'gpt-4o-mini'
const tools = [{ type: 'function', function: orderTool }]
const ask = (content, more = {}) =>
  client.chat.completions.create({ model, messages: [{ role: 'user', content }], ...more })

const messages = [
  { role: 'system', content: 'You answer about orders.' },
  { role: 'user', content: question },
]
const first = await client.chat.completions.create({ model, messages, tools })
const [call] = first.choices[0].message.tool_calls
console.log('asked for', call.id, call.function.name, call.function.arguments, first.usage)
messages.push(first.choices[0].message)
messages.push({
  role: 'tool',
  tool_call_id: call.id,
  content: findOrder(JSON.parse(call.function.arguments)),
})
const second = await client.chat.completions.create({ model, messages, tools })
console.log(second.choices[0].finish_reason, second.choices[0].message.content)

for await (const chunk of await ask('Say hello', {
  stream: true,
  stream_options: { include_usage: true },
})) {
  console.log('chunk', Date.now(), chunk.choices[0]?.delta.content, chunk.usage?.total_tokens)
}

const streamed = client.chat.completions.stream({
  model,
  messages: [{ role: 'user', content: question }],
  tools,
  stream_options: { include_usage: true },
})
streamed.on('content', (piece) => console.log('piece', piece))
const final = await streamed.finalChatCompletion()
console.log('streamed', JSON.stringify(final.choices[0].message.tool_calls), final.usage)

const retried = await ask('Are you busy?')
console.log('after a retry', retried.choices[0].message.content)

const parts = await Promise.all(['north', 'south', 'east'].map((name) => ask(`Report on ${name}`)))
console.log(parts.map(({ id, choices }) => `${id} ${choices[0].message.content}`).join('\n'))

const late = await client.chat.completions
  .create(
    { model, messages: [{ role: 'user', content: 'Be slow' }] },
    { timeout: 300, maxRetries: 0 },
  )
  .catch((error) => error)
console.log(late.constructor.name, late.message)
