// Mistral's SDK: a tool loop, a stream, a retry.
import { Mistral } from '@mistralai/mistralai'
import { findOrder, orderTool, question } from './orders.mjs'

const client = new Mistral({
  apiKey: 'none',
  serverURL: process.env.AGENT_BASE_URL,
  retryConfig: {
    strategy: 'backoff',
    backoff: { initialInterval: 10, maxInterval: 50, exponent: 1.5, maxElapsedTime: 5000 },
    retryConnectionErrors: true,
  },
})
const model = 'mistral-small-2506'
const tools = [{ type: 'function', function: orderTool }]

const messages = [{ role: 'user', content: question }]
const first = await client.chat.complete({ model, messages, tools })
const [call] = first.choices[0].message.toolCalls
console.log('asked for', call.function.name, call.function.arguments, first.usage)
const args = call.function.arguments
messages.push(first.choices[0].message, {
  role: 'tool',
  toolCallId: call.id,
  name: call.function.name,
  content: findOrder(typeof args === 'string' ? JSON.parse(args) : args),
})
const second = await client.chat.complete({ model, messages, tools })
console.log(second.choices[0].finishReason, second.choices[0].message.content)

const hello = { model, messages: [{ role: 'user', content: 'Say hello' }] }
for await (const { data } of await client.chat.stream(hello)) {
  console.log('chunk', data.choices[0].delta.content, data.choices[0].finishReason, data.usage)
}
for await (const { data } of await client.chat.stream({
  model,
  messages: [{ role: 'user', content: question }],
  tools,
})) {
  console.log('streamed', JSON.stringify(data.choices[0].delta.toolCalls ?? null))
}

const busy = { model, messages: [{ role: 'user', content: 'Are you busy?' }] }
const retried = await client.chat.complete(busy)
console.log('after a retry', retried.choices[0].message.content)
