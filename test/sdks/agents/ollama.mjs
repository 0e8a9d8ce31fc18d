// A local model through Ollama's client: a tool loop, a stream, plain generation, embeddings, an error.
import { Ollama } from 'ollama'
import { findOrder, orderTool, question } from './orders.mjs'

const client = new Ollama({ host: process.env.AGENT_BASE_URL })
const model = 'llama3.2'
const tools = [{ type: 'function', function: orderTool }]

const messages = [{ role: 'user', content: question }]
const first = await client.chat({ model, messages, tools })
const [call] = first.message.tool_calls
console.log('asked for', call.function.name, call.function.arguments, first.eval_count)
messages.push(first.message, {
  role: 'tool',
  tool_name: call.function.name,
  content: findOrder(call.function.arguments),
})
const second = await client.chat({ model, messages, tools })
console.log(second.done_reason, second.message.content)

const hello = [{ role: 'user', content: 'Say hello' }]
for await (const part of await client.chat({ model, messages: hello, stream: true })) {
  console.log('chunk', part.message.content, part.done, part.prompt_eval_count ?? '')
}
for await (const part of await client.generate({ model, prompt: 'Say hello', stream: true })) {
  console.log('generated', part.response)
}

const broken = { model, messages: [{ role: 'user', content: 'Are you broken?' }] }
console.log(await client.chat(broken).catch((error) => `${error.name}: ${error.message}`))
