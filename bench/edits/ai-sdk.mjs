// The same clerk with the AI SDK; every answer of the model is streamed.
import { readFileSync } from 'node:fs'
import { createOpenAI } from '@ai-sdk/openai'
import { stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'

const system = 'You are a clerk of a shop.'
const question = 'Refund order 1182.'
const rules = readFileSync('rules.md', 'utf8')
const orderTool = 'Finds an order by its number.'

const shop = async (path, body) => {
  const init = body && { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${process.env.SHOP_URL}${path}`, init)
  return response.text()
}

const model = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat('gpt-4o-mini')
const inputSchema = z.object({ id: z.string() })
const tools = {
  find_order: tool({
    description: orderTool,
    inputSchema,
    execute: ({ id }) => shop(`/orders/${id}`),
  }),
  refund: tool({
    description: 'Refunds an order.',
    inputSchema,
    execute: ({ id }) => shop('/refunds', { id }),
  }),
}

async function answer(messages) {
  const result = streamText({
    model,
    system: `${system} ${rules}`,
    messages,
    tools,
    stopWhen: stepCountIs(5),
  })
  let text = ''
  for await (const part of result.textStream) text += part
  messages.push(...(await result.response).messages)
  return text
}

const messages = [{ role: 'user', content: question }]
await answer(messages)
messages.push({ role: 'user', content: 'Write a letter to the customer.' })
const letter = await answer(messages)
const review = streamText({ model, system: 'You review letters.', prompt: letter })
console.log(letter, await review.text)
