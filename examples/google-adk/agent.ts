import {
  AgentTool,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  LogLevel,
  setLogLevel,
} from '@google/adk'
import { nameSteps } from 'retake/google-adk'
import { z } from 'zod'

nameSteps()
setLogLevel(LogLevel.WARN)
process.env.GOOGLE_GENAI_API_KEY ??= process.env.GEMINI_API_KEY

/** A concierge that asks a specialist, who has a tool. */
const model = 'gemini-2.5-flash'
const forecast = new FunctionTool({
  name: 'forecast',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, sky: 'clear', askedAt: new Date().toISOString() }),
})
const meteorologist = new LlmAgent({
  name: 'meteorologist',
  description: 'Knows the weather.',
  model,
  instruction: 'You explain the weather.',
  tools: [forecast],
})
const concierge = new LlmAgent({
  name: 'concierge',
  model,
  instruction: 'You help guests.',
  tools: [new AgentTool({ agent: meteorologist })],
})

const runner = new InMemoryRunner({ agent: concierge, appName: 'hotel' })
const { id } = await runner.sessionService.createSession({ appName: 'hotel', userId: 'ada' })
const events = runner.runAsync({
  userId: 'ada',
  sessionId: id,
  newMessage: { role: 'user', parts: [{ text: 'Do I need an umbrella in Bern?' }] },
})
for await (const { author, content } of events)
  for (const { text } of content?.parts ?? []) if (text) console.log(`${author}: ${text}`)
