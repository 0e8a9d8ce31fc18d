/**
 * Asks one model for a stream by its own SDK and prints what it said, was asked to call and
 * counted: `streamed-model.mjs gemini | converse | converse-http1 | ollama`.
 */
import { BedrockRuntimeClient, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { GoogleGenAI } from '@google/genai'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { Ollama } from 'ollama'

const url = process.env['AGENT_BASE_URL'] ?? 'http://127.0.0.1:9'
const asked = 'Where is order 1182?'

async function gemini() {
  const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: url } })
  const heard = { text: '', output: 0 }
  const request = { model: 'gemini-2.5-flash', contents: asked }
  for await (const chunk of await client.models.generateContentStream(request)) {
    heard.text += chunk.text ?? ''
    heard.output = chunk.usageMetadata?.candidatesTokenCount ?? heard.output
  }
  return heard
}

async function converse(options = {}) {
  const client = new BedrockRuntimeClient({
    region: 'us-east-1',
    endpoint: url,
    credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
    ...options,
  })
  const heard = { text: '', output: 0 }
  const messages = [{ role: 'user', content: [{ text: asked }] }]
  const command = new ConverseStreamCommand({ modelId: 'amazon.nova-lite-v1:0', messages })
  const { stream } = await client.send(command)
  for await (const { contentBlockDelta, metadata } of stream) {
    heard.text += contentBlockDelta?.delta?.text ?? ''
    heard.output = metadata?.usage?.outputTokens ?? heard.output
  }
  client.destroy()
  return heard
}

async function ollama() {
  const heard = { text: '', output: 0 }
  const messages = [{ role: 'user', content: asked }]
  const client = new Ollama({ host: url })
  for await (const line of await client.chat({ model: 'llama3', messages, stream: true })) {
    heard.text += line.message.content
    heard.output = line.eval_count ?? heard.output
  }
  return heard
}

const models = {
  gemini,
  converse,
  'converse-http1': () => converse({ requestHandler: new NodeHttpHandler() }),
  ollama,
}
console.log(JSON.stringify(await models[process.argv[2]]()))
