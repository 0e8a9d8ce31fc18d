// Anthropic's messages: a tool loop, a stream, a streamed tool call, a retry, a fan-out.
import Anthropic from '@anthropic-ai/sdk'
import { findOrder, orderParameters, orderTool, question } from './orders.mjs'

const client = new Anthropic({ apiKey: 'none', baseURL: process.env.AGENT_BASE_URL })
const model = 'claude-sonnet-5'
const { name, description } = orderTool
const tools = [{ name, description, input_schema: orderParameters }]
const ask = (content) => ({ model, max_tokens: 200, messages: [{ role: 'user', content }] })

const messages = [{ role: 'user', content: question }]
const first = await client.messages.create({
  model,
  max_tokens: 200,
  system: 'You answer about orders.',
  messages,
  tools,
})
const call = first.content.find(({ type }) => type === 'tool_use')
console.log('asked for', call.id, call.name, call.input, first.stop_reason, first.usage)
messages.push({ role: 'assistant', content: first.content })
messages.push({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: call.id, content: findOrder(call.input) }],
})
const second = await client.messages.create({ model, max_tokens: 200, messages, tools })
console.log(second.stop_reason, second.content)

for await (const event of await client.messages.create({ ...ask('Say hello'), stream: true })) {
  console.log(event.type, JSON.stringify(event.delta ?? event.message?.usage ?? null))
}

const streamed = client.messages.stream({ ...ask(question), tools })
streamed.on('inputJson', (piece) => console.log('piece', piece))
const final = await streamed.finalMessage()
console.log('streamed', final.content, final.usage)

const retried = await client.messages.create(ask('Are you busy?'))
console.log('after a retry', retried.content[0].text)

const parts = await Promise.all(
  ['north', 'south'].map((part) => client.messages.stream(ask(`Report on ${part}`)).finalText()),
)
console.log(parts)
