import { MemorySaver } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

const model = new ChatOpenAI({
  model: 'gpt-example',
  apiKey: 'none',
  configuration: { baseURL: `${process.env.AGENT_BASE_URL}/v1` },
})
const weather = tool(({ city }) => `${city}: ${Math.random()}`, {
  name: 'weather',
  description: 'The weather of a city',
  schema: z.object({ city: z.string().optional() }),
})
const agent = createAgent({ model, tools: [weather], checkpointer: new MemorySaver() })
const thread = { configurable: { thread_id: 'one' }, recursionLimit: 12 }
try {
  const { messages } = await agent.invoke({ messages: 'How is the weather?' }, thread)
  for (const { type, content } of messages) console.log(type, content)
} catch (error) {
  console.log(error.name)
}
