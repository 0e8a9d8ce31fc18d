// OpenAI's SDK against a server that only speaks its format, as vLLM, LiteLLM and llama.cpp do.
import OpenAI from 'openai'
import { question } from './orders.mjs'

const client = new OpenAI({
  apiKey: 'EMPTY',
  baseURL: `${process.env.AGENT_BASE_URL}/inference/v1`,
  defaultHeaders: { 'x-tenant': 'orders' },
})
const model = 'Qwen/Qwen3-8B'
const messages = [{ role: 'user', content: question }]

const answer = await client.chat.completions.create({ model, messages, temperature: 0 })
console.log(answer.model, answer.choices[0].message.content, answer.usage)

for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
  console.log('chunk', chunk.choices[0]?.delta.content ?? '')
}

const vectors = await client.embeddings.create({
  model: 'nomic-embed-text',
  input: ['red shoes', 'blue shoes'],
})
console.log(vectors.data.length, vectors.data[0].embedding.length, vectors.usage)
