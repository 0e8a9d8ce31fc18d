// Claude on Bedrock, invoked with its own body, over HTTP/2 or with `http1` over HTTP/1: whole, streamed, in parallel.
import {
  BedrockRuntimeClient,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { orderParameters, orderTool, question } from './orders.mjs'

const client = new BedrockRuntimeClient({
  region: 'us-east-1',
  endpoint: process.env.AGENT_BASE_URL,
  ...(process.argv[2] === 'http1' && { requestHandler: new NodeHttpHandler() }),
})
const modelId = 'anthropic.claude-3-5-sonnet-20240620-v1:0'
const { name, description } = orderTool
const ask = (content, more = {}) => ({
  modelId,
  contentType: 'application/json',
  body: JSON.stringify({
    anthropic_version: 'bedrock-2023-05-31',
    max_tokens: 200,
    messages: [{ role: 'user', content }],
    ...more,
  }),
})
const tools = [{ name, description, input_schema: orderParameters }]

const whole = await client.send(new InvokeModelCommand(ask(question, { tools })))
const answer = JSON.parse(Buffer.from(whole.body).toString())
console.log(answer.stop_reason, answer.content, answer.usage)

for (const body of [ask('Say hello'), ask(question, { tools })]) {
  const streamed = await client.send(new InvokeModelWithResponseStreamCommand(body))
  for await (const { chunk } of streamed.body) console.log(Buffer.from(chunk.bytes).toString())
}

const parts = await Promise.all(
  ['north', 'south'].map((part) => client.send(new InvokeModelCommand(ask(`Report on ${part}`)))),
)
for (const { body } of parts) console.log(JSON.parse(Buffer.from(body).toString()).content[0].text)
client.destroy()
