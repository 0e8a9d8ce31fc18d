// Google's Agent Development Kit: an agent with a tool, whole and streamed.
import { FunctionTool, InMemoryRunner, isFinalResponse, LlmAgent } from '@google/adk'
import { z } from 'zod'
import { findOrder, orderTool, question } from './orders.mjs'

process.env.GOOGLE_GENAI_API_KEY = 'none'
process.env.GOOGLE_GEMINI_BASE_URL = process.env.AGENT_BASE_URL

const { name, description } = orderTool
const agent = new LlmAgent({
  name: 'orders',
  model: 'gemini-2.5-flash',
  description: 'Knows where orders are',
  instruction: 'You answer about orders.',
  tools: [
    new FunctionTool({
      name,
      description,
      parameters: z.object({ id: z.string() }),
      execute: (args) => ({ output: findOrder(args) }),
    }),
  ],
})

const runner = new InMemoryRunner({ agent, appName: 'shop' })
const session = await runner.sessionService.createSession({ appName: 'shop', userId: 'ada' })
for (const [text, streamingMode] of [
  [question, 'none'],
  [question, 'sse'],
]) {
  const events = runner.runAsync({
    userId: 'ada',
    sessionId: session.id,
    newMessage: { role: 'user', parts: [{ text }] },
    runConfig: { streamingMode },
  })
  for await (const event of events) {
    console.log(event.author, event.partial ?? '', JSON.stringify(event.content?.parts))
    if (isFinalResponse(event)) console.log('final', event.usageMetadata)
  }
}
