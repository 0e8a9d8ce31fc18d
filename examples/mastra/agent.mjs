import { createOpenAI } from '@ai-sdk/openai'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { createTool } from '@mastra/core/tools'
import { createStep, createWorkflow } from '@mastra/core/workflows'
import { nameConfig } from 'retake/mastra'
import { z } from 'zod'

/** A workflow of two steps; the second asks an agent with a tool. */
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })

const forecast = createTool({
  id: 'forecast',
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, sky: 'clear', at: new Date().toISOString() }),
})
const guide = new Agent({
  id: 'guide',
  name: 'Guide',
  instructions: 'You suggest what to do.',
  model: openai.chat('gpt-4o-mini'),
  tools: { forecast },
})

const place = z.object({ city: z.string() })
const plan = createWorkflow({
  id: 'plan',
  inputSchema: place,
  outputSchema: z.object({ text: z.string() }),
})
  .then(
    createStep({
      id: 'normalise',
      inputSchema: place,
      outputSchema: place,
      execute: async ({ inputData }) => ({ city: inputData.city.trim() }),
    }),
  )
  .then(
    createStep({
      id: 'suggest',
      inputSchema: place,
      outputSchema: z.object({ text: z.string() }),
      execute: async ({ inputData, mastra }) => {
        const { text } = await mastra.getAgent('guide').generate(`A day in ${inputData.city}?`)
        return { text }
      },
    }),
  )
  .commit()

const mastra = new Mastra(nameConfig({ agents: { guide }, workflows: { plan }, logger: false }))
const run = await mastra.getWorkflow('plan').createRun()
const { status, result } = await run.start({ inputData: { city: ' Bern ' } })
console.log(`${status}: ${result.text}`)
