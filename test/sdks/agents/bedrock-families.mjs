// Other families on Bedrock, each with a body of its own, whole and streamed.
import {
  BedrockRuntimeClient,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime'

const client = new BedrockRuntimeClient({
  region: 'us-east-1',
  endpoint: process.env.AGENT_BASE_URL,
})
const text = 'Say hello'
const bodies = {
  'amazon.nova-lite-v1:0': {
    schemaVersion: 'messages-v1',
    messages: [{ role: 'user', content: [{ text }] }],
    inferenceConfig: { maxTokens: 100 },
  },
  'meta.llama3-1-8b-instruct-v1:0': { prompt: text, max_gen_len: 100 },
  'mistral.mistral-large-2402-v1:0': { prompt: `<s>[INST]${text}[/INST]`, max_tokens: 100 },
  'cohere.command-r-v1:0': { message: text, max_tokens: 100 },
  'openai.gpt-oss-20b-1:0': { messages: [{ role: 'user', content: text }], max_tokens: 100 },
}

for (const [modelId, body] of Object.entries(bodies)) {
  const asked = { modelId, contentType: 'application/json', body: JSON.stringify(body) }
  const whole = await client.send(new InvokeModelCommand(asked))
  console.log(modelId, Buffer.from(whole.body).toString())
  const streamed = await client.send(new InvokeModelWithResponseStreamCommand(asked))
  for await (const { chunk } of streamed.body) console.log(Buffer.from(chunk.bytes).toString())
}

const embedded = await client.send(
  new InvokeModelCommand({
    modelId: 'amazon.titan-embed-text-v2:0',
    body: JSON.stringify({ inputText: 'red shoes', dimensions: 256 }),
  }),
)
console.log(JSON.parse(Buffer.from(embedded.body).toString()).embedding.length)
client.destroy()
