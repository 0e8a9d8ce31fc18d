// Groq's SDK: a tool loop, a stream, a retry.
import Groq from 'groq-sdk'
import { findOrder, orderTool, question } from './orders.mjs'

const client = new Groq({ apiKey: 'none', baseURL: process.env.AGENT_BASE_URL })
const model = 'llama-3.3-70b-versatile'
const tools = [{ type: 'function', function: orderTool }]

const messages = [{ role: 'user', content: question }]
const first = await client.chat.completions.create({ model, messages, tools })
const [call] = first.choices[0].message.tool_calls
console.log('asked for', call.function.name, call.function.arguments, first.usage)
messages.push(first.choices[0].message, {
  role: 'tool',
  tool_call_id: call.id,
  content: findOrder(JSON.parse(call.function.arguments)),
})
const second = await client.chat.completions.create({ model, messages, tools })
console.log(second.choices[0].message.content)

const stream = await client.chat.completions.create({
  model,
  messages: [{ role: 'user', content: 'Say hello' }],
  stream: true,
})
for await (const chunk of stream) {
  console.log('chunk', chunk.choices[0]?.delta.content ?? '', chunk.x_groq?.usage ?? '')
}

const retried = await client.chat.completions.create({
  model,
  messages: [{ role: 'user', content: 'Are you busy?' }],
})
console.log('after a retry', retried.choices[0].message.content)
