// LangChain's createAgent with a tool, then streamed, then a plain model with a retry.
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
import { findOrder, orderTool, question } from './orders.mjs'

const configuration = { baseURL: `${process.env.AGENT_BASE_URL}/v1` }
const model = new ChatOpenAI({ model: 'gpt-4o-mini', apiKey: 'none', configuration })
const { name, description } = orderTool
const tools = [tool(findOrder, { name, description, schema: z.object({ id: z.string() }) })]

const agent = createAgent({ model, tools, systemPrompt: 'You answer about orders.' })
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: question }] })
for (const message of messages) {
  console.log(message.getType(), message.text, message.tool_calls ?? '', message.usage_metadata)
}

const streamed = await agent.stream(
  { messages: [{ role: 'user', content: question }] },
  { streamMode: ['updates', 'messages'] },
)
for await (const [mode, chunk] of streamed) {
  console.log(mode, mode === 'messages' ? JSON.stringify(chunk[0].content) : Object.keys(chunk))
}

const retried = await model.invoke('Are you busy?')
console.log('after a retry', retried.content)
const batch = await model.batch(['Report on north', 'Report on south'])
console.log(batch.map(({ content }) => content))
