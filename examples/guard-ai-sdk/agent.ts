import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, tool } from 'ai'
import { guard } from 'retake'
import { guardTools } from 'retake/ai-sdk'
import { z } from 'zod'

/** Refunds up to 100 are paid; what is more is denied before the tool starts, and the model reads why. */
const run = guard({
  name: 'refunds',
  policy: {
    name: 'shop',
    rules: [
      {
        id: 'large',
        deny: 'refund',
        when: { amount: { over: 100 } },
        because: 'Refunds over 100 need a person.',
      },
    ],
  },
})

const tools = guardTools(run, {
  refund: tool({
    description: 'Pays money back.',
    inputSchema: z.object({ order: z.string(), amount: z.number() }),
    execute: ({ order, amount }) => ({ order, paid: amount, at: new Date().toISOString() }),
  }),
})

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const { text, steps } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  prompt: 'Order 1182 cost 20 and order 1183 cost 5000. Refund both.',
  tools,
  stopWhen: stepCountIs(5),
})
for (const part of steps.flatMap(({ content }) => content)) {
  if (part.type === 'tool-result') console.log('result:', JSON.stringify(part.output))
  if (part.type === 'tool-error') console.log('error:', String(part.error))
}
console.log(text)
