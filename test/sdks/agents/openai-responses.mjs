// OpenAI's responses API: a tool loop, a stream, a streamed tool call, a retry.
import OpenAI from 'openai'
import { findOrder, orderTool, question } from './orders.mjs'

const client = new OpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
const model = 'gpt-5-mini'
const tools = [{ type: 'function', strict: false, ...orderTool }]

const input = [{ role: 'user', content: question }]
const first = await client.responses.create({
  model,
  instructions: 'You answer about orders.',
  input,
  tools,
})
const call = first.output.find(({ type }) => type === 'function_call')
console.log('asked for', call.call_id, call.name, call.arguments, first.usage)
input.push(call, {
  type: 'function_call_output',
  call_id: call.call_id,
  output: findOrder(JSON.parse(call.arguments)),
})
const second = await client.responses.create({ model, input, tools })
console.log(second.status, second.output_text)

const stream = await client.responses.create({ model, input: 'Say hello', stream: true })
for await (const event of stream) {
  console.log(event.type, event.delta ?? '', event.response?.usage?.output_tokens ?? '')
}

const streamed = client.responses.stream({ model, input: question, tools })
streamed.on('response.function_call_arguments.delta', ({ delta }) => console.log('piece', delta))
const final = await streamed.finalResponse()
console.log(
  'streamed',
  final.output.map(({ type, name }) => `${type} ${name}`),
  final.usage,
)

const retried = await client.responses.create({ model, input: 'Are you busy?' })
console.log('after a retry', retried.output_text)
