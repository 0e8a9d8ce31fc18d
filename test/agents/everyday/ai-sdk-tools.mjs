import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, tool } from 'ai'
import { z } from 'zod'

const openai = createOpenAI({ baseURL: `${process.env.AGENT_BASE_URL}/v1`, apiKey: 'none' })
const { text, steps } = await generateText({
  model: openai.chat('gpt-example'),
  prompt: 'How is the weather?',
  stopWhen: stepCountIs(4),
  tools: {
    weather: tool({
      description: 'The weather of a city',
      inputSchema: z.object({ city: z.string().optional() }).loose(),
      execute: async ({ city }) => `${city}: ${Math.round(Math.random() * 30)} °C`,
    }),
  },
})
console.log(steps.length, text)
