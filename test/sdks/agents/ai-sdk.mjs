// Vercel's AI SDK: generateText with a tool until it is done, streamText, a retry, parallel calls.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { findOrder, orderTool, question } from './orders.mjs'

const openai = createOpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
const tools = {
  [orderTool.name]: tool({
    description: orderTool.description,
    inputSchema: z.object({ id: z.string() }),
    execute: findOrder,
  }),
}

const model = openai('gpt-5-mini')
const done = await generateText({ model, tools, prompt: question, stopWhen: stepCountIs(5) })
for (const { toolResults, finishReason } of done.steps) {
  console.log(
    finishReason,
    toolResults.map(({ toolName, output }) => `${toolName}: ${output}`),
  )
}
console.log(done.text, done.totalUsage)

const stream = streamText({
  model: openai.chat('gpt-4o-mini'),
  tools,
  prompt: question,
  stopWhen: stepCountIs(5),
})
for await (const part of stream.fullStream) {
  console.log(part.type, part.text ?? part.toolName ?? '')
}
console.log(await stream.totalUsage)

const chat = openai.chat('gpt-4o-mini')
const retried = await generateText({ model: chat, prompt: 'Are you busy?' })
console.log('after a retry', retried.text)

const texts = await Promise.all(
  ['north', 'south'].map(async (part) => {
    const { textStream } = streamText({ model: chat, prompt: `Report on ${part}` })
    const pieces = []
    for await (const piece of textStream) pieces.push(piece)
    return pieces.join('|')
  }),
)
console.log(texts)
