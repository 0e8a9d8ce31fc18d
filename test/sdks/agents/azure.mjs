// OpenAI's SDK against Azure: the deployment stands in the path, the key in a header of its own.
import { AzureOpenAI } from 'openai'
import { findOrder, orderTool, question } from './orders.mjs'

const client = new AzureOpenAI({
  apiKey: 'none',
  apiVersion: '2024-10-21',
  endpoint: process.env.AGENT_BASE_URL,
  deployment: 'orders-prod',
})
const model = 'gpt-4o-mini'
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
console.log(second.model, second.choices[0].message.content)

const stream = await client.chat.completions.create({
  model,
  messages: [{ role: 'user', content: 'Say hello' }],
  stream: true,
  stream_options: { include_usage: true },
})
for await (const chunk of stream) {
  console.log('chunk', chunk.choices[0]?.delta.content ?? '', chunk.usage?.total_tokens ?? '')
}

const retried = await client.chat.completions.create({
  model,
  messages: [{ role: 'user', content: 'Are you busy?' }],
})
console.log('after a retry', retried.choices[0].message.content)
