// The AI SDK's agent class and structured output, with the provider's newest models.
import { createOpenAI } from '@ai-sdk/openai'
import { Output, ToolLoopAgent, generateText, tool } from 'ai'
import { z } from 'zod'
import { findOrder, orderTool, question } from './orders.mjs'

const openai = createOpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
const agent = new ToolLoopAgent({
  model: openai('gpt-5-mini'),
  instructions: 'You answer about orders.',
  tools: {
    [orderTool.name]: tool({
      description: orderTool.description,
      inputSchema: z.object({ id: z.string() }),
      execute: findOrder,
    }),
  },
})
const { text, steps, totalUsage } = await agent.generate({ prompt: question })
console.log(text, steps.length, totalUsage)

const streamed = await agent.stream({ prompt: question })
for await (const piece of streamed.textStream) console.log('piece', piece)
console.log(await streamed.totalUsage)

const { output } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  prompt: 'Reply in JSON',
  output: Output.object({ schema: z.object({ mood: z.string() }) }),
})
console.log(output)
