// Bedrock's Converse over the SDK's default HTTP/2, or over HTTP/1 with `http1`: a tool loop, streams, a retry.
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { findOrder, orderParameters, orderTool, question } from './orders.mjs'

const client = new BedrockRuntimeClient({
  region: 'us-east-1',
  endpoint: process.env.AGENT_BASE_URL,
  ...(process.argv[2] === 'http1' && { requestHandler: new NodeHttpHandler() }),
})
const modelId = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const { name, description } = orderTool
const toolConfig = {
  tools: [{ toolSpec: { name, description, inputSchema: { json: orderParameters } } }],
}
const says = (text) => ({ role: 'user', content: [{ text }] })

const messages = [says(question)]
const system = [{ text: `You answer about orders. It is ${new Date().toISOString()}.` }]
const first = await client.send(new ConverseCommand({ modelId, system, messages, toolConfig }))
const { toolUse } = first.output.message.content.find((block) => block.toolUse)
console.log('asked for', toolUse, first.stopReason, first.usage)
messages.push(first.output.message, {
  role: 'user',
  content: [
    { toolResult: { toolUseId: toolUse.toolUseId, content: [{ text: findOrder(toolUse.input) }] } },
  ],
})
const second = await client.send(new ConverseCommand({ modelId, system, messages, toolConfig }))
console.log(second.stopReason, second.output.message.content[0].text)

for (const text of ['Say hello', question]) {
  const { stream } = await client.send(
    new ConverseStreamCommand({ modelId, messages: [says(text)], toolConfig }),
  )
  for await (const event of stream) console.log(Date.now(), JSON.stringify(event))
}

const busy = new ConverseCommand({ modelId, messages: [says('Are you busy?')] })
const retried = await client.send(busy)
console.log('after', retried.$metadata.attempts, retried.output.message.content[0].text)
client.destroy()
