// Mastra: an agent with a tool, whole and streamed, and a workflow of two steps around it.
import { createOpenAI } from '@ai-sdk/openai'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { createTool } from '@mastra/core/tools'
import { createStep, createWorkflow } from '@mastra/core/workflows'
import { z } from 'zod'
import { findOrder, orderTool, question } from './orders.mjs'

const openai = createOpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
const find_order = createTool({
  id: orderTool.name,
  description: orderTool.description,
  inputSchema: z.object({ id: z.string() }),
  execute: async (input) => findOrder(input),
})
const orders = new Agent({
  id: 'orders',
  name: 'Orders',
  instructions: 'You answer about orders.',
  model: openai.chat('gpt-4o-mini'),
  tools: { find_order },
})
const report = createWorkflow({
  id: 'report',
  inputSchema: z.object({ topic: z.string() }),
  outputSchema: z.object({ text: z.string() }),
})
  .then(
    createStep({
      id: 'write',
      inputSchema: z.object({ topic: z.string() }),
      outputSchema: z.object({ text: z.string() }),
      execute: async ({ inputData, mastra }) => {
        const { text } = await mastra.getAgent('orders').generate(`Report on ${inputData.topic}`)
        return { text }
      },
    }),
  )
  .commit()
const mastra = new Mastra({ agents: { orders }, workflows: { report }, logger: false })

const agent = mastra.getAgent('orders')
const whole = await agent.generate(question)
console.log(whole.text, whole.finishReason, whole.totalUsage)

const streamed = await agent.stream(question)
for await (const piece of streamed.textStream) console.log('piece', piece)
console.log(await streamed.finishReason)

const run = await mastra.getWorkflow('report').createRun()
const { status, result } = await run.start({ inputData: { topic: 'north' } })
console.log(status, result)
