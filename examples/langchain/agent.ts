import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { nameSteps, nameTools } from 'retake/langchain'
import { z } from 'zod'

nameSteps()

/** A planner whose tool is an agent of its own. */
const model = new ChatOpenAI({
  model: 'gpt-4o-mini',
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
})

const trains = tool(({ to }) => `A train to ${to} leaves at ${new Date().toISOString()}.`, {
  name: 'trains',
  description: 'The next train.',
  schema: z.object({ to: z.string() }),
})
const clerk = createAgent({ name: 'clerk', model, tools: nameTools([trains]) })

const askTheClerk = tool(
  async ({ question }) => {
    const { messages } = await clerk.invoke({ messages: [{ role: 'user', content: question }] })
    return messages.at(-1)?.text ?? ''
  },
  {
    name: 'ask_the_clerk',
    description: 'Asks the clerk at the station.',
    schema: z.object({ question: z.string() }),
  },
)
const planner = createAgent({ name: 'planner', model, tools: nameTools([askTheClerk]) })

const { messages } = await planner.invoke({
  messages: [{ role: 'user', content: 'Plan my trip to Bern.' }],
})
for (const message of messages) console.log(`${message.type}: ${message.text}`)
