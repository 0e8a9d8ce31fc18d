// Gemini through Google's SDK: a function call and its answer, a stream, a streamed function call, an error.
import { GoogleGenAI } from '@google/genai'
import { findOrder, orderParameters, orderTool, question } from './orders.mjs'

const client = new GoogleGenAI({
  apiKey: 'none',
  httpOptions: { baseUrl: process.env.AGENT_BASE_URL },
})
const model = 'gemini-2.5-flash'
const { name, description } = orderTool
const config = {
  systemInstruction: 'You answer about orders.',
  tools: [{ functionDeclarations: [{ name, description, parametersJsonSchema: orderParameters }] }],
}

const contents = [{ role: 'user', parts: [{ text: question }] }]
const first = await client.models.generateContent({ model, contents, config })
const [call] = first.functionCalls
console.log('asked for', call.name, call.args, first.usageMetadata)
contents.push(first.candidates[0].content, {
  role: 'user',
  parts: [
    {
      functionResponse: {
        id: call.id,
        name: call.name,
        response: { output: findOrder(call.args) },
      },
    },
  ],
})
const second = await client.models.generateContent({ model, contents, config })
console.log(second.candidates[0].finishReason, second.text)

for await (const chunk of await client.models.generateContentStream({
  model,
  contents: 'Say hello',
})) {
  console.log('chunk', Date.now(), chunk.text, chunk.usageMetadata)
}

for await (const chunk of await client.models.generateContentStream({
  model,
  contents: question,
  config,
})) {
  console.log('streamed', chunk.functionCalls, chunk.candidates?.[0]?.finishReason)
}

const refused = await client.models
  .generateContent({ model, contents: 'Are you broken?' })
  .catch((error) => error)
console.log(refused.name, refused.status)

const chat = client.chats.create({ model })
console.log((await chat.sendMessage({ message: 'Say hello' })).text)
console.log((await chat.sendMessage({ message: 'Report on north' })).text)
